"""The internals of discord.py that are used are as they were."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from discord.client import Client as DiscordClient
from discord.gateway import DiscordWebSocket, ReconnectWebSocket

from adapters.discord.connection import shard_session
from adapters.discord.connection.connection import make_client
from adapters.discord.connection.shard_state import ShardSession
from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.serving import config_of
from tests.fakes.discord_wire import connected

CHANGED = "discord.py has changed: adapt adapters/discord/connection/shard_session.py"


class Heard:
    """A ClientListener that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.frames: list[str] = []

    def on_frame(self, text: str) -> None:
        self.frames.append(text)

    def on_state(self, state: str) -> None:
        self.told.append(state)


async def at_once() -> None: ...


def test_discord_py_opens_a_socket_with_a_session_that_is_given() -> None:
    opening = inspect.signature(DiscordWebSocket.from_client).parameters
    wanted = {"client", "gateway", "shard_id", "session", "sequence", "resume"}
    assert wanted <= set(opening), CHANGED
    required = {
        name
        for name, each in opening.items()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    assert required == {"client"}, CHANGED
    assert "code" in inspect.signature(DiscordWebSocket.close).parameters, CHANGED
    assert set(inspect.signature(DiscordClient.connect).parameters) == {"self", "reconnect"}, (
        CHANGED
    )
    assert not ReconnectWebSocket(0, resume=False).resume, CHANGED


async def test_a_client_goes_on_with_the_session_of_another_one(discord: DiscordSimulator) -> None:
    alice = discord.person("alice")
    before, after = Heard(), Heard()
    config = config_of(discord)
    first = make_client(config, 1, 0, before, None, at_once)
    async with connected(first, discord):
        [session] = discord.gateway.open_sessions
        assert first.ws.session_id == session.id, CHANGED
        assert str(first.ws.gateway) == discord.gateway.resume_url, CHANGED
        await discord.until(lambda: first.ws.sequence == session.sequence)
        left = ShardSession(
            id=session.id, address=discord.gateway.resume_url, sequence=session.sequence
        )
        await first.leave()
        await discord.until(lambda: not discord.gateway.open_sessions)
    await alice.says(alice.direct, "between")
    second = make_client(config, 1, 0, after, left, at_once)
    running = asyncio.get_running_loop().create_task(second.start(discord.token))
    await discord.until(lambda: "resumed" in after.told)
    await second.leave()
    await running
    await second.close()
    assert [each for each in after.frames if "between" in each]
    assert "greeted" not in after.told
    assert discord.gateway.identifies == discord.gateway.resumes == 1


@pytest.mark.parametrize("code", [4000, 4009])
async def test_a_session_that_discord_closes_is_resumed_by_the_same_client(
    code: int, discord: DiscordSimulator
) -> None:
    heard = Heard()
    client = make_client(config_of(discord), 1, 0, heard, None, at_once)
    async with connected(client, discord):
        discord.gateway.close(code)
        await discord.until(lambda: "resumed" in heard.told)
    assert discord.gateway.identifies == 1


@asynccontextmanager
async def closing_gateway(met: list[int]) -> AsyncGenerator[str]:
    """The address of a gateway that closes each connection."""

    async def close(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": 40_000}})
        await socket.receive()
        met.append(1)
        await socket.close(code=4000)
        return socket

    app = web.Application()
    app.router.add_get("/", close)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"ws://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def test_a_gateway_that_closes_at_once_is_given_time(
    discord: DiscordSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited, met = list[int](), list[int]()

    def wait_after(failures: int) -> float:
        assert failures == len(met)
        waited.append(failures)
        return 0.0

    monkeypatch.setattr(shard_session, "wait_after", wait_after)
    async with closing_gateway(met) as address:
        session = ShardSession(id="s", address=address, sequence=1)
        config = config_of(discord).model_copy(update={"gateway_url": address})
        client = make_client(config, 1, 0, Heard(), session, at_once)
        running = asyncio.get_running_loop().create_task(client.start(discord.token))
        await discord.until(lambda: len(met) >= 3)
        await client.leave()
        await running
        await client.close()
    assert waited[:2] == [1, 2]


async def test_a_link_that_flaps_is_never_waited_for_longer(
    discord: DiscordSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []

    def wait_after(failures: int) -> float:
        waited.append(failures)
        return 0.01

    monkeypatch.setattr(shard_session, "wait_after", wait_after)
    heard = Heard()
    client = make_client(config_of(discord), 1, 0, heard, None, at_once)
    async with connected(client, discord):
        for _ in range(4):
            before, resumed = len(waited), heard.told.count("resumed")
            discord.gateway.down = True
            discord.gateway.abort()
            await discord.until(lambda before=before: len(waited) > before)
            assert waited[before] == 1
            discord.gateway.down = False
            await discord.until(lambda resumed=resumed: heard.told.count("resumed") > resumed)


def test_the_longest_wait_for_discord_is_a_minute() -> None:
    waits = [shard_session.wait_after(failures) for failures in range(1, 2000)]
    assert 0.5 <= waits[0] <= 1.0
    assert all(15.0 <= wait <= 60.0 for wait in waits[6:])
