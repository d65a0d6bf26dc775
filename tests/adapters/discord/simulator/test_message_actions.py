"""Edits, previews, deletions, reactions, forwards, files, mentions and history."""

from __future__ import annotations

import io

import aiohttp
import discord as sdk
import pytest

from adapters.discord.testing import DiscordSimulator, ImpossibleAction, MessageFlag
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import Connect

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x08"


async def test_edits_previews_and_deletions_are_told(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = await alice.says(general, "see https://example.org")
    await alice.edits(written, "see https://example.com")
    discord.unfurl(written, title="Example", url="https://example.com")
    await alice.deletes(written)

    await discord.until(lambda: bot.events_named("delete"))

    edited, unfurled = (each.data for each in bot.events_named("edit"))
    assert edited["content"] == "see https://example.com"
    assert edited["edited_timestamp"]
    assert unfurled["embeds"][0]["title"] == "Example"
    assert unfurled["edited_timestamp"] == edited["edited_timestamp"]
    assert bot.events_named("delete")[0].message_id == written.id
    assert discord.messages(general) == []


async def test_many_are_deleted_at_once(discord: DiscordSimulator, discord_client: Connect) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = [await alice.says(general, str(number)) for number in range(3)]
    discord.purge(written[:2])
    await discord.until(lambda: bot.events_named("purge"))
    assert bot.events_named("purge")[0].message_ids == {written[0].id, written[1].id}
    assert discord.messages(general) == [written[2]]


async def test_who_takes_no_direct_messages_gets_none(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    alice = discord.person("alice")
    bot = await discord_client(Bot())
    alice.closes_direct()
    with pytest.raises(sdk.Forbidden) as refused:
        await bot.get_user(alice.id).send("hello")
    assert refused.value.code == 50007


async def test_a_reaction_is_told_and_given(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = await alice.says(general, "hi")
    await alice.reacts(written, "👍")
    await discord.until(lambda: bot.events_named("reaction"))

    message = await bot.get_channel(general.id).fetch_message(written.id)
    await message.add_reaction("👀")
    assert written.reactions == {"👍": [alice.user], "👀": [discord.bot]}
    assert [each.me for each in message.reactions] == [False]
    await message.remove_reaction("👀", bot.user)
    assert list(written.reactions) == ["👍"]


async def test_a_forward_shows_what_it_forwards(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = await alice.says(general, "the text", files=[("a.txt", b"file", "text/plain")])
    await alice.forwards(written, alice.direct)

    await discord.until(lambda: len(bot.heard) == 2)

    forwarded = bot.heard[1]
    assert forwarded.content == ""
    assert forwarded.message_snapshots[0].content == "the text"
    assert forwarded.message_snapshots[0].attachments[0].filename == "a.txt"
    await bot.heard[0].forward(bot.get_channel(general.id))
    assert discord.messages(general)[-1].snapshots


async def test_files_go_both_ways(discord: DiscordSimulator, discord_client: Connect) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    await alice.says(general, "look", files=[("a.png", PNG, "image/png")])
    await discord.until(lambda: bot.heard)

    attachment = bot.heard[0].attachments[0]
    assert (attachment.width, attachment.height, attachment.size) == (16, 8, len(PNG))
    assert await attachment.read() == PNG
    await bot.get_channel(general.id).send(
        "here", file=sdk.File(io.BytesIO(b"answer"), "answer.txt", description="the answer")
    )
    sent = discord.messages(general)[-1].attachments[0]
    assert (sent.filename, sent.content) == ("answer.txt", b"answer")
    assert sent.description == "the answer"


async def test_a_link_to_a_file_goes_stale_and_is_fresh_in_the_message(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    await alice.says(general, "look", files=[("a.png", PNG, "image/png")])
    await discord.until(lambda: bot.heard)

    discord.advance(25 * 3600)
    with pytest.raises(sdk.NotFound):
        await bot.heard[0].attachments[0].read()
    again = await bot.get_channel(general.id).fetch_message(bot.heard[0].id)
    assert await again.attachments[0].read() == PNG
    async with aiohttp.ClientSession() as session:
        forged = again.attachments[0].url.replace("hm=", "hm=0")
        async with session.get(forged) as answer:
            assert answer.status == 404


async def test_files_are_kept_dropped_and_added_by_edits(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    files = [sdk.File(io.BytesIO(b"1"), "1.txt"), sdk.File(io.BytesIO(b"2"), "2.txt")]
    message = await bot.get_channel(general.id).send("files", files=files)

    await message.edit(attachments=[message.attachments[1], sdk.File(io.BytesIO(b"3"), "3.txt")])

    kept = discord.messages(general)[0].attachments
    assert [each.filename for each in kept] == ["2.txt", "3.txt"]
    await message.edit(content="still", suppress=True)
    assert [each.filename for each in kept] == ["2.txt", "3.txt"]
    assert discord.messages(general)[0].flags & MessageFlag.SUPPRESS_EMBEDS


async def test_new_components_of_all_kinds_are_shown(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Card(sdk.ui.LayoutView):
        box = sdk.ui.Container(
            sdk.ui.TextDisplay("# A title"),
            sdk.ui.Section("beside", accessory=sdk.ui.Thumbnail("attachment://a.png")),
            sdk.ui.Section("and", accessory=sdk.ui.Button(label="Go", custom_id="go", emoji="👍")),
            sdk.ui.Separator(),
            sdk.ui.MediaGallery(sdk.MediaGalleryItem("https://example.com/b.png")),
            sdk.ui.File("attachment://a.txt"),
            sdk.ui.ActionRow(sdk.ui.Button(label="Docs", url="https://example.com")),
        )

    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    files = [sdk.File(io.BytesIO(PNG), "a.png"), sdk.File(io.BytesIO(b"1"), "a.txt")]
    sent = await bot.get_channel(general.id).send(view=Card(timeout=None), files=files)

    thumbnail = sent.components[0].children[1].accessory
    assert thumbnail.media.url.startswith(discord.cdn_url)
    with pytest.raises(ImpossibleAction):
        await alice.clicks(discord.messages(general)[0], "Docs")
    clicked = await alice.clicks(discord.messages(general)[0], "Go")
    assert clicked.data["custom_id"] == "go"


async def test_files_beyond_the_limit_are_refused(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    discord.home.upload_limit = 10
    bot = await discord_client(Bot())
    with pytest.raises(sdk.HTTPException) as refused:
        await bot.get_channel(general.id).send(file=sdk.File(io.BytesIO(b"x" * 11), "a.txt"))
    assert (refused.value.status, refused.value.code) == (413, 40005)


async def test_only_allowed_mentions_are_told(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice, bob = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("bob"),
    )
    staff = discord.role("staff")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    text = f"{alice.mention} {bob.mention} {staff.mention} @everyone"

    await channel.send(text, allowed_mentions=sdk.AllowedMentions.none())
    assert discord.pings == []
    only_bob = sdk.AllowedMentions(users=[sdk.Object(bob.id)], roles=False, everyone=False)
    await channel.send(text, allowed_mentions=only_bob)
    await channel.send(text)
    some, everybody = discord.pings
    assert some.pings == [bob.user]
    assert some.role_pings == []
    assert everybody.pings == [alice.user, bob.user]
    assert everybody.role_pings == [staff]
    assert not everybody.everyone  # the application lacks the permission
    discord.give(discord.bot, discord.role("loud", "mention_everyone"))
    await channel.send(text)
    assert discord.pings[-1].everyone


async def test_history_is_read_from_both_ends(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = [await alice.says(general, str(number)) for number in range(120)]
    channel = bot.get_channel(general.id)

    after = [each.content async for each in channel.history(after=sdk.Object(written[9].id))]
    assert after == [str(number) for number in range(10, 110)]
    everything = [each.content async for each in channel.history(limit=None)]
    assert everything == [str(number) for number in reversed(range(120))]
    around = [each.content async for each in channel.history(limit=3, around=written[50])]
    assert sorted(around) == ["49", "50", "51"]


async def test_a_reply_to_a_deleted_message_can_be_sent_all_the_same(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    written = await alice.says(general, "hi")
    await alice.deletes(written)
    reference = {"message_id": str(written.id), "fail_if_not_exists": False}
    body = {"content": "hi", "message_reference": reference}
    status, _ = await rest.call("POST", f"/channels/{general.id}/messages", body)
    assert status == 200


async def test_people_can_not_do_what_discord_would_not_let_them(
    discord: DiscordSimulator,
) -> None:
    hidden, general = discord.channel("hidden", hidden=True), discord.channel("general")
    alice, bob = discord.person("alice"), discord.person("bob")
    written = await alice.says(general, "mine")
    for deed in (
        alice.says(hidden, "let me in"),
        bob.edits(written, "yours"),
        bob.deletes(written),
        bob.clicks(written, "Approve"),
        bob.slash(general, "ask"),
        bob.says(hidden, "x", reply_to=written),
    ):
        with pytest.raises(ImpossibleAction):
            await deed


async def test_what_is_typed_is_seen(discord: DiscordSimulator, discord_client: Connect) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    async with bot.get_channel(general.id).typing():
        await discord.until(lambda: discord.typing)
    assert discord.typing[0].channel is general
