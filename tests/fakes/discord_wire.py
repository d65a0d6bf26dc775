"""The Discord simulator for tests: checked against Discord's description, reached by discord.py.

In a conftest: `from tests.fakes.discord_wire import discord, discord_client`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import discord as sdk
import pytest
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.discord.testing import Call, DiscordSimulator
from tests.fakes.discord_api import api_description


@contextmanager
def pointed_at(simulator: DiscordSimulator) -> Generator[None]:
    """Let discord.py in this process take the simulator for Discord."""
    before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE = simulator.api_url
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(simulator.gateway_url)
    try:
        yield
    finally:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = before


@asynccontextmanager
async def simulated() -> AsyncGenerator[DiscordSimulator]:
    """A simulator that fails unless all its traffic is as Discord describes.

    They are checked at the end: that takes several times as long as all the rest of an exchange.
    """
    async with DiscordSimulator() as simulator:
        simulator.gateway.starts.seconds = 0.0  # tests begin anew within seconds
        exchanges: list[Call] = []
        simulator.on_exchange.append(lambda call: exchanges.append(_snapshot(call)))
        simulator.world.on_event.append(api_description().check_event)
        yield simulator
        for call in exchanges:
            api_description().check(call)


def _snapshot(call: Call) -> Call:
    body, answer = json.loads(json.dumps([call.body, call.answer]))
    return replace(call, body=body, answer=answer)


@pytest.fixture
async def discord() -> AsyncIterator[DiscordSimulator]:
    """A Discord of the test's own for the real discord.py."""
    async with simulated() as simulator:
        with pointed_at(simulator):
            yield simulator


Connect: TypeAlias = Callable[..., Any]


@asynccontextmanager
async def connected(client: sdk.Client, simulator: DiscordSimulator) -> AsyncGenerator[None]:
    """Run a client until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(client.start(simulator.token))
        try:
            async with asyncio.timeout(8):
                while not client.is_ready():
                    if running.done():
                        running.result()
                    await asyncio.sleep(0.01)
            yield
        finally:
            await client.close()
            running.cancel()


@pytest.fixture
async def discord_client(discord: DiscordSimulator) -> AsyncIterator[Connect]:
    """Connect clients: `client = await discord_client(Bot(intents=...))`; closed with the test."""
    async with AsyncExitStack() as stack:

        async def connect(client: sdk.Client) -> sdk.Client:
            await stack.enter_async_context(connected(client, discord))
            return client

        yield connect
