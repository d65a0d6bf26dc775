"""Faults: exactly those planned occur, and finished work stays."""

from __future__ import annotations

import asyncio

import aiohttp
import discord as sdk
import pytest

from adapters.discord.testing import ConnectionReset, Delay, DiscordSimulator, Refusal, ServerError
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.rest import Rest
from tests.fakes.discord_wire import Connect


@pytest.mark.parametrize("committed", [False, True])
async def test_a_failure_that_discord_py_retries_makes_one_message(
    committed: bool, discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    discord.faults.plan(ServerError(502, committed=committed), method="POST", path="/messages")

    await bot.get_channel(general.id).send("once")

    assert discord.texts(general) == ["once"]
    assert [call.status for call in discord.calls("POST", "/messages")] == [502, 200]


@pytest.mark.parametrize("committed", [False, True])
async def test_a_cut_connection_leaves_open_whether_it_was_done(
    committed: bool, discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    channel = bot.get_channel(general.id)
    discord.faults.plan(ConnectionReset(committed=committed), method="POST", path="/messages")

    with pytest.raises(aiohttp.ClientError):
        await channel.send("once", nonce="abc")
    assert discord.texts(general) == (["once"] if committed else [])

    await channel.send("once", nonce="abc")
    assert discord.texts(general) == ["once"]


async def test_a_nonce_is_forgotten_after_some_minutes(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general = discord.channel("general")
    body = {"content": "x", "nonce": "abc", "enforce_nonce": True}
    path = f"/channels/{general.id}/messages"
    _, first = await rest.call("POST", path, body)
    _, again = await rest.call("POST", path, body)
    discord.advance(200)
    _, later = await rest.call("POST", path, body)
    assert first["id"] == again["id"] != later["id"]


async def test_a_503_is_not_retried_by_discord_py(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general = discord.channel("general")
    bot = await discord_client(Bot())
    discord.faults.plan(ServerError(503), method="POST", path="/messages")
    with pytest.raises(sdk.DiscordServerError):
        await bot.get_channel(general.id).send("once")
    assert discord.texts(general) == []


async def test_an_answer_can_be_held_back(discord: DiscordSimulator, rest: Rest) -> None:
    general = discord.channel("general")
    path = f"/channels/{general.id}/messages"
    go = asyncio.Event()
    discord.faults.plan(Delay(until=go, committed=True), path="/messages")
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(rest.call("POST", path, {"content": "x"}))
        await discord.until(lambda: discord.texts(general) == ["x"])
        assert not call.done()
        go.set()
    assert call.result()[0] == 200


async def test_faults_meet_the_requests_that_were_named(
    discord: DiscordSimulator, rest: Rest
) -> None:
    general, other = discord.channel("general"), discord.channel("other")
    discord.faults.plan(
        Refusal(403, 50013, "Missing Permissions"), path=str(general.id), skip=1, times=2
    )
    codes = [
        (await rest.call("POST", f"/channels/{place.id}/messages", {"content": "x"}))[0]
        for place in (general, other, general, general, general)
    ]
    assert codes == [200, 200, 403, 403, 200]


async def test_a_download_can_fail_too(discord: DiscordSimulator, discord_client: Connect) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    await alice.says(general, "look", files=[("a.txt", b"text", "text/plain")])
    await discord.until(lambda: bot.heard)
    attachment = bot.heard[0].attachments[0]
    discord.faults.plan(ServerError(503), path="/attachments")
    discord.faults.plan(
        ConnectionReset(), path="/attachments", times=2
    )  # aiohttp tries a GET twice

    with pytest.raises(sdk.HTTPException):
        await attachment.read()
    with pytest.raises(aiohttp.ClientError):
        await attachment.read()
    assert await attachment.read() == b"text"


async def test_a_thread_is_deleted_or_its_permission_lost_in_mid_stream(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    written = await alice.says(general, "hi")
    parent = await bot.get_channel(general.id).fetch_message(written.id)
    thread = await parent.create_thread(name="talk")
    message = await thread.send("one")

    discord.deny(general, discord.bot, "send_messages_in_threads")
    with pytest.raises(sdk.Forbidden) as lost:
        await thread.send("two")
    assert lost.value.code == 50013

    discord.archive(discord.threads(general)[0])
    with pytest.raises(sdk.HTTPException) as archived:
        await message.edit(content="three")
    assert archived.value.code == 50083

    discord.delete(discord.threads(general)[0])
    with pytest.raises(sdk.NotFound) as gone:
        await message.edit(content="four")
    assert gone.value.code == 10003


async def test_a_mistake_of_the_application_fails_the_simulation() -> None:
    def refuse(_: object) -> None:
        raise AssertionError("not as described")

    async def misbehave() -> None:
        async with DiscordSimulator() as discord, Rest(discord) as rest:
            discord.on_exchange.append(refuse)
            await rest.call("GET", "/users/@me")

    with pytest.raises(ExceptionGroup, match="The simulator broke"):
        await misbehave()
