"""Sessions, breaks and bad intents, as discord.py meets them."""

from __future__ import annotations

import asyncio
import json
import zlib

import aiohttp
import discord as sdk
import pytest

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.simulator.bot import Bot
from tests.adapters.discord.simulator.sockets import ALL, Socket
from tests.fakes.discord_wire import Connect


async def test_what_was_said_during_a_break_arrives_by_a_resume(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    await alice.says(general, "before")
    await discord.until(lambda: bot.texts() == ["before"])

    discord.gateway.abort()
    assert discord.gateway.open_sessions == []
    await alice.says(general, "in between")
    await discord.until(lambda: bot.events_named("resumed"))
    await alice.says(general, "after")
    await discord.until(lambda: bot.texts() == ["before", "in between", "after"])

    assert discord.gateway.identifies == 1
    assert discord.gateway.resumes == 1


async def test_a_break_in_the_midst_of_a_burst_loses_and_doubles_nothing(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())

    discord.gateway.abort(after=7)
    for number in range(30):
        await alice.says(general, str(number))
    await discord.until(lambda: len(bot.texts()) == 30)

    assert bot.texts() == [str(number) for number in range(30)]
    assert discord.gateway.resumes == 1


@pytest.mark.parametrize("how", ["reconnect", "invalidate", "close"])
async def test_discord_asks_to_come_back(
    how: str, discord: DiscordSimulator, discord_client: Connect
) -> None:
    bot = await discord_client(Bot())

    match how:
        case "reconnect":
            discord.gateway.reconnect()
        case "invalidate":
            discord.gateway.invalidate(resumable=True)
        case _:
            discord.gateway.close(4009)

    await discord.until(lambda: bot.events_named("resumed"))
    assert discord.gateway.identifies == 1


async def test_an_event_can_come_twice_and_out_of_order(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())

    discord.gateway.duplicate()
    await alice.says(general, "twice")
    discord.gateway.reorder(2)
    await alice.says(general, "first")
    await alice.says(general, "second")

    await discord.until(lambda: bot.texts() == ["twice", "twice", "second", "first"])


async def test_what_was_said_while_the_gateway_was_down_is_in_the_history(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot())
    discord.gateway.down = True
    discord.gateway.close(1000)
    discord.gateway.forget()
    written = await alice.says(general, "anybody here?")
    await discord.until(lambda: not discord.gateway.connections)
    discord.gateway.down = False

    history = [each async for each in bot.get_channel(general.id).history()]

    assert [each.id for each in history] == [written.id]
    assert bot.texts() == []


async def test_a_malformed_event_ends_the_client(discord: DiscordSimulator) -> None:
    bot = Bot()
    running = asyncio.get_running_loop().create_task(bot.start(discord.token))
    await discord.until(lambda: bot.events_named("ready"))

    discord.gateway.malformed("MESSAGE_REACTION_ADD", {"user_id": "1", "message_id": "1"})

    with pytest.raises(KeyError):
        await running
    await bot.close()


async def test_a_missed_heartbeat_makes_the_client_come_back(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    discord.gateway.heartbeat_interval = 0.05
    bot = await discord_client(Bot(heartbeat_timeout=0.2))

    discord.gateway.answers_heartbeats = False
    await discord.until(lambda: discord.gateway.resumes)
    discord.gateway.answers_heartbeats = True

    await discord.until(lambda: bot.events_named("resumed"))


async def test_the_text_is_kept_back_without_the_intent_for_it(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    bot = await discord_client(Bot(intents=sdk.Intents.default()))

    await alice.says(general, "among us")
    await alice.mentions(general, "to you")
    await alice.says(alice.direct, "in private")

    mention = f"{discord.bot.mention} to you"
    await discord.until(lambda: bot.texts() == ["", mention, "in private"])


async def test_intents_that_were_not_granted_are_refused(discord: DiscordSimulator) -> None:
    discord.gateway.granted = 0
    bot = Bot()
    with pytest.raises(sdk.PrivilegedIntentsRequired):
        await bot.start(discord.token)
    await bot.close()


async def test_a_wrong_token_is_refused_everywhere(discord: DiscordSimulator) -> None:
    bot = Bot()
    with pytest.raises(sdk.LoginFailure):
        await bot.start("wrong")
    await bot.close()
    async with Socket(discord) as socket:
        await socket.identify(token="wrong")
        assert await socket.close_code() == 4004


async def test_unknown_intents_and_shards_are_refused(discord: DiscordSimulator) -> None:
    async with Socket(discord) as socket:
        await socket.identify(intents=1 << 30)
        assert await socket.close_code() == 4013
    async with Socket(discord) as socket:
        await socket.identify(shard=[2, 2])
        assert await socket.close_code() == 4010
    async with Socket(discord) as socket:
        await socket.send({"op": 77, "d": None})
        assert await socket.close_code() == 4001
    async with Socket(discord) as socket:
        await socket.send("what?")
        assert await socket.close_code() == 4002


async def test_a_client_that_sends_too_much_is_sent_away(discord: DiscordSimulator) -> None:
    async with Socket(discord) as socket:
        for _ in range(121):
            await socket.send({"op": 3, "d": {}})
        assert await socket.close_code() == 4008


async def test_a_session_can_be_resumed_for_two_minutes(discord: DiscordSimulator) -> None:
    async with Socket(discord) as first:
        ready = await first.identify()
    await discord.until(lambda: not discord.gateway.open_sessions)
    discord.advance(121)
    async with Socket(discord) as late:
        await late.resume(ready["session_id"], 1)
        assert (await late.receive())["op"] == 9


async def test_a_session_that_missed_too_much_can_not_be_resumed(
    discord: DiscordSimulator,
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with Socket(discord) as first:
        ready = await first.identify()
    await discord.until(lambda: not discord.gateway.open_sessions)
    for number in range(1001):
        await alice.says(general, str(number))
    async with Socket(discord) as back:
        await back.resume(ready["session_id"], 1)
        assert await back.receive() == {"op": 9, "d": False}


async def test_resumes_can_be_refused(discord: DiscordSimulator) -> None:
    async with Socket(discord) as first:
        ready = await first.identify()
    discord.gateway.refused_resumes = 1
    async with Socket(discord) as second:
        await second.resume(ready["session_id"], 2)
        assert (await second.receive())["d"] is False
        await second.resume(ready["session_id"], 2)
        assert (await second.receive())["t"] == "RESUMED"


@pytest.mark.parametrize(("code", "answer"), [(1000, 9), (1001, 9), (4000, 0)])
async def test_a_client_that_says_goodbye_ends_its_session(
    code: int, answer: int, discord: DiscordSimulator
) -> None:
    async with Socket(discord) as first:
        ready = await first.identify()
        await first.close(code)
    await discord.until(lambda: not discord.gateway.connections)
    async with Socket(discord) as second:
        await second.resume(ready["session_id"], 2)
        assert (await second.receive())["op"] == answer


async def test_a_resume_from_a_number_that_was_never_sent_is_refused(
    discord: DiscordSimulator,
) -> None:
    async with Socket(discord) as first:
        ready = await first.identify()
    async with Socket(discord) as second:
        await second.resume(ready["session_id"], 99)
        assert await second.close_code() == 4007


async def test_a_second_resume_repeats_no_greeting_of_the_first(discord: DiscordSimulator) -> None:
    async with Socket(discord) as first:
        ready = await first.identify()
    for _ in range(2):
        async with Socket(discord) as again:
            await again.resume(ready["session_id"], 2)
            assert (await again.receive())["t"] == "RESUMED"


async def test_a_bucket_of_shards_may_identify_once_in_five_seconds(
    discord: DiscordSimulator,
) -> None:
    starts = discord.gateway.starts
    starts.seconds, starts.max_concurrency = 5.0, 2
    async with Socket(discord) as first, Socket(discord) as second, Socket(discord) as third:
        await first.identify(shard=[0, 4])
        await second.identify(shard=[1, 4])
        await third.identify(shard=[2, 4])
        assert (await third.receive()) == {"op": 9, "d": False}
        discord.advance(5)
        await third.identify(shard=[2, 4])
        assert (await third.receive())["t"] == "READY"
    assert (starts.refused, starts.remaining) == (1, 997)


async def test_too_many_sessions_in_a_day_end_all_of_them(discord: DiscordSimulator) -> None:
    discord.gateway.starts.total = 1
    async with Socket(discord) as first:
        await first.identify()
        await first.receive()
        async with Socket(discord) as second:
            await second.identify(shard=[0, 1])
            assert await second.close_code() == 4004
        assert await first.close_code() == 4004
    assert discord.gateway.sessions == {}


async def test_the_resume_address_is_another_one(discord: DiscordSimulator) -> None:
    async with Socket(discord) as socket:
        ready = await socket.identify()
    assert ready["resume_gateway_url"] != discord.gateway_url
    async with Socket(discord, ready["resume_gateway_url"]) as back:
        await back.resume(ready["session_id"], 2)
        assert (await back.receive())["t"] == "RESUMED"


async def test_frames_are_one_zlib_stream(discord: DiscordSimulator) -> None:
    stream = zlib.decompressobj()
    async with aiohttp.ClientSession() as session:
        url = f"{discord.gateway_url}?v=10&encoding=json&compress=zlib-stream"
        async with session.ws_connect(url) as socket:
            hello = await socket.receive_bytes()
            assert hello.endswith(b"\x00\x00\xff\xff")
            assert json.loads(stream.decompress(hello))["op"] == 10
            identify = {"token": discord.token, "intents": ALL, "properties": {}}
            await socket.send_json({"op": 2, "d": identify})
            ready = json.loads(stream.decompress(await socket.receive_bytes()))
            assert ready["t"] == "READY"


async def test_frames_are_text_where_another_compression_is_asked_for(
    discord: DiscordSimulator,
) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"{discord.gateway_url}?compress=zstd-stream"
        async with session.ws_connect(url) as socket:
            assert (await socket.receive_json())["op"] == 10


async def test_discord_may_ask_for_a_heartbeat(discord: DiscordSimulator) -> None:
    async with Socket(discord) as socket:
        await socket.identify()
        discord.gateway.ask_heartbeat()
        while (await socket.receive())["op"] != 1:
            pass
        await socket.send({"op": 1, "d": 2})
        assert (await socket.receive())["op"] == 11


async def test_guilds_are_shared_out_among_shards(
    discord: DiscordSimulator, discord_client: Connect
) -> None:
    class Sharded(sdk.AutoShardedClient):
        def __init__(self) -> None:
            super().__init__(intents=sdk.Intents.all(), guild_ready_timeout=0.05)
            self.heard: list[str] = []

        async def before_identify_hook(self, *_: object, **__: object) -> None:
            """Go on at once, where discord.py would wait for five seconds."""

        async def on_message(self, message: sdk.Message) -> None:
            self.heard.append(message.content)

    discord.gateway.shards = 2
    await asyncio.sleep(0.002)  # ids tell the time: the guilds' must differ for two shards
    away = discord.guild("away")
    while (away.id >> 22) % 2 == (discord.home.id >> 22) % 2:
        away = discord.guild("away")
    alice = discord.person("alice")
    discord.person("alice", guild=away)
    client = await discord_client(Sharded())

    await alice.says(discord.channel("general"), "home")
    await alice.says(discord.channel("general", guild=away), "away")

    await discord.until(lambda: sorted(client.heard) == ["away", "home"])
    assert len(discord.gateway.open_sessions) == 2
