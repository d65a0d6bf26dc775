"""Other identities: webhooks that write, edit and are looked up."""

from __future__ import annotations

import discord as sdk
import pytest

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import Connect


async def test_a_webhook_writes_under_its_name_in_a_thread_and_edits(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    thread = await alice.starts_thread(await alice.says(general, "hi"), "talk")
    webhook = await bot.get_channel(general.id).create_webhook(name="Parley")

    sent = await webhook.send("one", username="Researcher", thread=sdk.Object(thread.id), wait=True)
    await sent.edit(content="two")

    written = discord.messages(thread)[-1]
    assert (written.author.name, written.content) == ("Researcher", "two")
    await discord.until(lambda: bot.heard and bot.heard[-1].webhook_id == webhook.id)
    found = await webhook.fetch_message(sent.id, thread=sdk.Object(thread.id))
    assert found.content == "two"
    assert [each.id for each in await bot.get_channel(general.id).webhooks()] == [webhook.id]
    await sent.delete()
    await webhook.delete()
    with pytest.raises(sdk.NotFound):
        await webhook.send("gone", wait=True)


async def test_a_webhook_needs_permission_and_its_token(
    discord: DiscordSimulator, discord_client: Connect, rest: Rest
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    webhook = await bot.get_channel(general.id).create_webhook(name="Parley")

    wrong = f"/webhooks/{webhook.id}/wrong"
    assert await rest.code("POST", wrong, {"content": "x"}) == (401, 50027)
    name = {"content": "x", "username": "Discord Support"}
    right = f"/webhooks/{webhook.id}/{webhook.token}"
    assert await rest.code("POST", right, name) == (400, 50035)
    assert await rest.code("POST", right, {"content": "x" * 2001}) == (400, 50035)
    assert await rest.code("POST", right, {"content": ""}) == (400, 50006)
    discord.deny(general, discord.bot, "manage_webhooks")
    with pytest.raises(sdk.Forbidden):
        await bot.get_channel(general.id).create_webhook(name="Another")


async def test_a_webhook_begins_posts_in_a_forum(
    discord: DiscordSimulator, discord_client: Connect, rest: Rest
) -> None:
    forum = discord.forum("help")
    bot = await discord_client(Bot())
    webhook = await bot.get_channel(forum.id).create_webhook(name="Parley")
    path = f"/webhooks/{webhook.id}/{webhook.token}"
    assert await rest.code("POST", path, {"content": "x"}) == (400, 220001)
    await webhook.send("It works", thread_name="News", username="Reporter", wait=True)
    assert discord.threads(forum)[0].name == "News"
    assert (await rest.call("GET", path))[1]["id"] == str(webhook.id)
    assert (await rest.call("GET", f"/webhooks/{webhook.id}"))[0] == 200


async def test_without_wait_nothing_is_told(discord: DiscordSimulator, rest: Rest) -> None:
    general = discord.channel("general")
    _, webhook = await rest.call("POST", f"/channels/{general.id}/webhooks", {"name": "Parley"})
    path = f"/webhooks/{webhook['id']}/{webhook['token']}"
    assert await rest.call("POST", path, {"content": "x"}) == (204, "")
    assert discord.texts(general) == ["x"]
