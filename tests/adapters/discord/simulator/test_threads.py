"""Threads, private ones and posts in forums: begun, archived, entered."""

from __future__ import annotations

import discord as sdk
import pytest

from adapters.discord.testing import ChannelType, DiscordSimulator, ImpossibleAction, MessageType
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import Connect


async def test_a_message_starts_one_thread(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = await alice.says(general, "hi")
    message = await bot.get_channel(general.id).fetch_message(written.id)
    thread = await message.create_thread(name="one")

    with pytest.raises(sdk.HTTPException) as refused:
        await message.create_thread(name="two")

    assert refused.value.code == 160004
    assert thread.id == written.id
    again = await bot.get_channel(general.id).fetch_message(written.id)
    assert again.thread.id == thread.id


async def test_a_private_thread_is_for_its_members(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    alice, bob = discord.person("alice"), discord.person("bob")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    thread = await channel.create_thread(name="secret", type=sdk.ChannelType.private_thread)
    place = discord.threads(general)[0]
    await thread.send(f"for you, {alice.mention}", allowed_mentions=sdk.AllowedMentions(users=True))

    assert place.type is ChannelType.PRIVATE_THREAD
    await alice.says(place, "thanks")
    assert bob.sees(place) == []
    with pytest.raises(ImpossibleAction):
        await bob.says(place, "let me in")
    await thread.add_user(sdk.Object(bob.id))
    await bob.says(place, "now I am in")
    await discord.until(lambda: "now I am in" in bot.texts())
    await thread.leave()
    await discord.until(lambda: bot.events_named("left"))
    await bob.says(place, "among us")
    await alice.says(general, "everybody")
    await discord.until(lambda: bot.texts()[-1] == "everybody")
    assert "among us" not in bot.texts()


async def test_an_archived_thread_wakes_when_somebody_writes(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = await alice.says(general, "hi")
    thread = await alice.starts_thread(written, "talk")
    await discord.until(lambda: bot.get_channel(thread.id))

    discord.advance(24 * 3600)
    assert thread.archived
    await discord.until(lambda: bot.get_channel(thread.id) is None)
    await alice.says(thread, "still there?")

    assert not thread.archived
    await discord.until(lambda: "still there?" in bot.texts())


async def test_a_thread_is_entered_left_and_deleted(
    discord: DiscordSimulator, discord_client: Connect, rest: Rest
) -> None:
    general, alice, bob = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("bob"),
    )
    bot = await discord_client(Bot())
    written = await alice.says(general, "hi")
    place = await alice.starts_thread(written, "talk")
    thread = await bot.fetch_channel(place.id)

    await thread.join()
    await thread.add_user(sdk.Object(bob.id))
    assert {each.id for each in await thread.fetch_members()} == {alice.id, bot.user.id, bob.id}
    with pytest.raises(sdk.Forbidden):
        await thread.remove_user(sdk.Object(bob.id))
    await thread.leave()
    assert set(place.members) == {alice.id, bob.id}
    assert await rest.code("DELETE", f"/channels/{place.id}") == (403, 50013)
    discord.give(discord.bot, discord.role("keeper", "manage_threads manage_channels"))
    await thread.remove_user(sdk.Object(bob.id))
    await thread.edit(locked=True, slowmode_delay=5)
    assert (place.locked, place.slowmode) == (True, 5)
    await thread.delete()
    assert discord.threads(general) == []
    again = await bot.get_channel(general.id).fetch_message(written.id)
    assert again.thread is None
    await bot.get_channel(general.id).edit(name="renamed", topic="news")
    assert (general.name, general.topic) == ("renamed", "news")
    await bot.get_channel(general.id).delete()
    await discord.until(lambda: bot.get_channel(general.id) is None)


async def test_private_threads_that_were_archived_are_found(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    thread = await channel.create_thread(name="secret", type=sdk.ChannelType.private_thread)
    await thread.edit(archived=True)
    found = [each async for each in channel.archived_threads(private=True, joined=True)]
    assert [each.id for each in found] == [thread.id]
    assert [each async for each in channel.archived_threads()] == []
    with pytest.raises(sdk.Forbidden):
        assert [each async for each in channel.archived_threads(private=True)]
    discord.give(discord.bot, discord.role("moderator", "manage_threads"))
    assert [each.id async for each in channel.archived_threads(private=True)] == [thread.id]


async def test_an_archive_is_listed_page_by_page(
    discord: DiscordSimulator, discord_client: Connect, rest: Rest
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    threads = [
        await alice.starts_thread(await alice.says(general, "hi"), f"talk {n}") for n in range(3)
    ]
    for thread in threads:
        discord.advance(60)
        discord.archive(thread)
    path = f"/channels/{general.id}/threads/archived/public"
    _, page = await rest.call("GET", f"{path}?limit=2")
    assert (page["has_more"], len(page["threads"])) == (True, 2)
    found = [each.id async for each in bot.get_channel(general.id).archived_threads()]
    assert found == [each.id for each in reversed(threads)]


async def test_a_locked_thread_takes_nothing(discord: DiscordSimulator, rest: Rest) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    thread = await alice.starts_thread(await alice.says(general, "hi"), "talk")
    path = f"/channels/{thread.id}/messages"
    _, message = await rest.call("POST", path, {"content": "x"})
    discord.archive(thread, locked=True)

    assert await rest.code("POST", path, {"content": "y"}) == (403, 50083)
    change = {"archived": False}
    assert await rest.code("PATCH", f"/channels/{thread.id}", change) == (403, 50013)
    edit = {"content": "y"}
    assert await rest.code("PATCH", f"{path}/{message['id']}", edit) == (403, 50083)
    assert await rest.code("DELETE", f"{path}/{message['id']}") == (403, 50083)


async def test_a_locked_thread_that_is_not_archived_takes_no_text_but_lets_it_go(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general = discord.channel("general")
    started = {"name": "talk", "type": 11}
    _, made = await rest.call("POST", f"/channels/{general.id}/threads", started)
    thread, path = discord.threads(general)[0], f"/channels/{made['id']}/messages"
    _, message = await rest.call("POST", path, {"content": "x"})
    discord.lock(thread)

    assert await rest.code("POST", path, {"content": "y"}) == (403, 50083)
    edit = {"content": "y"}
    assert await rest.code("PATCH", f"{path}/{message['id']}", edit) == (403, 50083)
    rename = {"name": "mine"}
    assert await rest.code("PATCH", f"/channels/{thread.id}", rename) == (403, 50013)
    assert (await rest.call("DELETE", f"{path}/{message['id']}"))[0] == 204


async def test_a_moderator_goes_on_in_a_locked_thread(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    thread = await alice.starts_thread(await alice.says(general, "hi"), "talk")
    path = f"/channels/{thread.id}"
    discord.give(discord.bot, discord.role("keeper", "manage_threads"))
    discord.archive(thread, locked=True)

    assert (await rest.call("POST", f"{path}/messages", {"content": "y"}))[0] == 200
    assert (thread.archived, thread.locked) == (False, True)
    assert (await rest.call("PATCH", path, {"name": "mine"}))[0] == 200


async def test_a_thread_is_renamed_archived_and_brought_back(
    discord: DiscordSimulator, discord_client: Connect, rest: Rest
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    thread = await channel.create_thread(name="new", type=sdk.ChannelType.public_thread)
    place = discord.threads(general)[0]

    await thread.edit(name="a title", auto_archive_duration=60)
    assert (place.name, place.auto_archive) == ("a title", 60)
    assert discord.messages(place)[-1].type is MessageType.CHANNEL_NAME_CHANGE
    await thread.edit(archived=True)
    assert place.archived
    _, listed = await rest.call("GET", f"/channels/{general.id}/threads/archived/public")
    assert [each["id"] for each in listed["threads"]] == [str(thread.id)]
    await thread.edit(archived=False)
    _, listed = await rest.call("GET", f"/guilds/{discord.home.id}/threads/active")
    assert [each["id"] for each in listed["threads"]] == [str(thread.id)]
    assert [each["user_id"] for each in listed["members"]] == [str(discord.bot.id)]


async def test_a_forum_post_is_a_thread_with_its_first_message(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    forum, alice = discord.forum("help", tags=["bug"]), discord.person("alice")
    bot = await discord_client(Bot())

    post = await alice.opens_post(forum, "It broke", "when I looked")

    await discord.until(lambda: bot.heard and bot.events_named("thread"))
    assert bot.heard[0].id == post.id == bot.events_named("thread")[0].id
    assert bot.heard[0].content == "when I looked"
    tags = bot.get_channel(forum.id).available_tags
    made = await bot.get_channel(forum.id).create_thread(
        name="News", content="It works", applied_tags=tags
    )
    assert discord.texts(discord.threads(forum)[1]) == ["It works"]
    assert made.message.id == made.thread.id
    with pytest.raises(ImpossibleAction):
        await alice.opens_post(discord.channel("general"), "no", "forum")
