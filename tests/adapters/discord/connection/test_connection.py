"""Connection failures of all kinds lose no message."""

import asyncio
from functools import partial
from pathlib import Path

import aiohttp
import pytest
import yarl
from aiohttp import web
from aiohttp.test_utils import TestServer
from discord.gateway import DiscordWebSocket
from pydantic import SecretStr

from adapters.discord import Config, adapter, build
from adapters.discord.connection import connection
from adapters.discord.connection.connection import Connection, make_client
from adapters.discord.testing import DiscordSimulator, Refusal, ServerError
from gateway.access.authority import Access
from gateway.adapter import AuthError
from gateway.gateway import Gateway
from tests.adapters.discord.serving import (
    bot_texts,
    config_of,
    serving,
    thread_of,
    wait_delivered,
)
from tests.fakes.new_store import new_store
from tests.fakes.proxy import FakeProxy
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import ScriptedTeams, solo

pytestmark = pytest.mark.chaos


async def auth_error(config: Config, folder: Path) -> str:
    teams = ScriptedTeams(lambda: solo("."))
    async with Gateway(new_store(folder), teams, access=Access()) as gateway:
        with pytest.raises(AuthError) as error:
            await build(config).run(gateway)
    return str(error.value)


async def test_a_wrong_token_is_said_in_words(discord: DiscordSimulator, tmp_path: Path) -> None:
    config = config_of(discord).model_copy(update={"token": SecretStr("wrong.token.at-all")})
    error = await auth_error(config, tmp_path)
    assert error.startswith("Discord refused the bot's token")
    assert "wrong.token" not in error


async def test_intents_that_are_not_granted_are_said_in_words(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.gateway.granted = 0
    assert "Message Content Intent" in await auth_error(config_of(discord), tmp_path)


async def test_without_the_intent_mentions_and_direct_messages_are_heard(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    discord.gateway.granted = 0
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, message_content=False)
    async with serving(discord, tmp_path, lambda: solo("One.", "Two."), config=config) as gateway:
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await alice.mentions(thread_of(asked), "and?")
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 2)
        await wait_delivered(gateway)


async def test_a_cut_connection_is_resumed_and_nothing_is_taken_twice(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    model = ScriptedModel(*[f"Answer {n}." for n in range(5)])
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 1)
        discord.gateway.abort()
        await discord.until(lambda: not discord.gateway.open_sessions)
        await alice.says(alice.direct, "while you were away")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        discord.gateway.duplicate()
        await alice.says(alice.direct, "twice?")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 3)
        await wait_delivered(gateway)
    assert len(model.requests) == 3
    assert discord.gateway.resumes == 1


async def test_an_event_that_ends_the_library_does_not_end_the_bot(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Alive.")) as gateway:
        discord.gateway.malformed("CHANNEL_UPDATE", {"guild_id": "nothing of that kind"})
        discord.gateway.malformed("MESSAGE_CREATE", {"id": "x", "author": None})
        discord.gateway.malformed("INTERACTION_CREATE", {"type": 3, "data": {}})
        await discord.until(lambda: not discord.gateway.open_sessions)
        asked = await alice.mentions(general, "still there?")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    assert discord.gateway.identifies == 2


class DeafHost:
    """A Wire that takes no notice of anything."""

    def on_frame(self, shard: int, text: str) -> None: ...

    def on_state(self, shard: int, state: str) -> None: ...


async def at_once(shard: int) -> None:
    """A gate that stands open."""


async def test_a_connection_that_falls_silent_is_replaced(discord: DiscordSimulator) -> None:
    config = config_of(discord)
    replaced = Connection(
        partial(make_client, config, 1),
        discord.token,
        DeafHost(),
        at_once,
        silent=0.4,
        first_wait=0.01,
    )
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(replaced.run())
        await discord.until(lambda: discord.gateway.identifies >= 3)
        keeping.cancel()


async def test_a_session_that_is_never_greeted_is_replaced(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"greeting": 0.5, "first_wait": 0.01}
    monkeypatch.setattr(adapter, "Connection", partial(Connection, **usual))
    discord.gateway.heartbeat_interval = 0.1
    async with serving(discord, tmp_path, lambda: solo("Alive.")) as gateway:
        discord.gateway.deaf = 2
        discord.gateway.abort()
        await discord.until(lambda: not discord.gateway.deaf, seconds=20)
        assert gateway.vitals.platforms.states()["discord"][0] == "connecting"
        await discord.until(lambda: discord.gateway.open_sessions, seconds=20)
        alice = discord.person("alice")
        await alice.says(alice.direct, "still there?")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        assert gateway.vitals.platforms.states()["discord"][0] == "connected"
        await wait_delivered(gateway)


async def test_the_api_is_asked_for_the_gateway_that_the_config_does_not_name(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL("ws://127.0.0.1:1/"))
    config = config_of(discord).model_copy(update={"gateway_url": None})
    async with serving(discord, tmp_path, lambda: solo("Here."), config=config):
        assert discord.gateway.open_sessions


@pytest.mark.timeout(40)
async def test_a_half_open_socket_is_replaced(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PING_SECONDS", 1.0)
    async with FakeProxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with serving(discord, tmp_path, lambda: solo("Here.", "Alive.")) as gateway:
            alice = discord.person("alice")
            await alice.says(alice.direct, "there?")  # so the client has heard of its session
            await discord.until(lambda: "Here." in str(bot_texts(discord, alice.direct)))
            [before] = discord.gateway.connections
            proxy.freeze()
            await discord.until(lambda: discord.gateway.resumes, seconds=20)
            assert discord.gateway.connections != [before]
            await alice.says(alice.direct, "still there?")
            await discord.until(lambda: "Alive." in str(bot_texts(discord, alice.direct)))
            await wait_delivered(gateway)


async def test_a_quiet_socket_whose_pings_are_answered_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "PING_SECONDS", 0.2)

    async def answer_four_pings(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        for _ in range(4):
            ping = await socket.receive()
            assert ping.type is aiohttp.WSMsgType.PING
            await socket.pong(ping.data)
        await socket.send_str("still here")
        return socket

    app = web.Application()
    app.router.add_get("/", answer_four_pings)
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession(ws_response_class=connection.PingedSocket) as session,
        session.ws_connect(server.make_url("/")) as socket,
    ):
        assert isinstance(socket, connection.PingedSocket)
        socket.count_arrivals()
        assert (await socket.receive()).data == "still here"


@pytest.mark.parametrize("stage", ["socket", "greeting"])
def test_all_waits_together_end_within_twenty_seconds(stage: str) -> None:
    backoff = 2.0  # the longest first wait, discord.py's and ours
    close = connection.CLOSE_SECONDS + connection.CHECK_SECONDS
    match stage:
        case "socket":
            assert connection.PING_SECONDS * 1.5 + backoff < 20
            assert connection.CONNECT_SECONDS + backoff < 20
        case _:
            assert connection.GREETING_SECONDS + close + backoff < 20


async def test_two_shards_hear_everything(discord: DiscordSimulator, tmp_path: Path) -> None:
    discord.gateway.shards = 2
    alice, other = discord.person("alice"), discord.guild("other")
    far = discord.channel("far", guild=other)
    bob = discord.person("bob", guild=other)
    config = config_of(discord, shards=2)
    async with serving(discord, tmp_path, lambda: solo("Here."), config=config) as gateway:
        await discord.until(lambda: len(discord.gateway.open_sessions) == 2, seconds=8)
        asked = await bob.mentions(far, "hello")
        await alice.says(alice.direct, "hi")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)


async def test_a_message_that_can_not_be_taken_just_now_is_taken_later(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("One.")) as gateway:
        discord.faults.plan(ServerError(503), path="/members/{user_id}")
        await alice.says(alice.direct, "who am I?")
        await discord.until(lambda: bot_texts(discord, alice.direct) == ["-# 🐺 **solo**\nOne."])
        await wait_delivered(gateway)


async def test_a_thread_that_people_have_opened_keeps_its_name(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    started = await alice.says(general, "let us talk")
    thread = await alice.starts_thread(started, "our plans")
    async with serving(discord, tmp_path, lambda: solo("One.", "Two.")) as gateway:
        await alice.mentions(thread, "what do you think?")
        await discord.until(lambda: bot_texts(discord, thread))
        await alice.says(thread, "go on")
        await discord.until(lambda: len(bot_texts(discord, thread)) == 2)
        await wait_delivered(gateway)
    assert thread.name == "our plans"


async def test_a_bad_beginning_is_tried_again(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice = discord.person("alice")
    discord.faults.plan(ServerError(503), path="/users/@me")
    discord.faults.plan(Refusal(400, 50035, "Invalid Form Body"), method="PUT", path="/commands")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await discord.until(lambda: discord.calls("PUT", "/commands"))
        await alice.says(alice.direct, "there?")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
