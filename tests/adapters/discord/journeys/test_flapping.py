"""Flapping links and processes that keep dying forget nobody on Discord."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from aiohttp import web

from adapters.discord.connection import shard_session
from adapters.discord.simulator import gateway as simulated
from adapters.discord.simulator.connections import Connection
from adapters.discord.testing import DiscordSimulator
from gateway.app.stores import AnyStore
from gateway.gateway import Gateway
from tests.adapters.discord.serving import serving
from tests.gateway.scripted import solo

pytestmark = pytest.mark.chaos

GAPS = 8
AWAY, BACK = 80.0, 30.0
"""Seconds of a gap, more than what is read again anyway, and of the time until the next."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bot connect at once: Discord has its own time."""
    monkeypatch.setattr(shard_session, "FIRST_WAIT", 0.005)


async def heard(gateway: Gateway, asked: list[str]) -> None:
    """Wait until each question was taken, and find each once."""
    async with asyncio.timeout(20):
        while len(await texts(gateway)) < len(asked):  # noqa: ASYNC110 (a store tells nobody)
            await asyncio.sleep(0.01)
    assert sorted(await texts(gateway)) == sorted(asked)


async def texts(gateway: Gateway) -> list[str]:
    store = cast("AnyStore", gateway.store)
    return await store.write(lambda c: [row["text"] for row in c.fetch("SELECT text FROM inbox")])


def go_on(discord: DiscordSimulator, gap: int) -> None:
    """Keep the session."""


def lose(discord: DiscordSimulator, gap: int) -> None:
    """Lose the session: the next one is a new one."""
    discord.gateway.forget()


def lose_in_turn(discord: DiscordSimulator, gap: int) -> None:
    """Lose every other session."""
    if gap % 2:
        discord.gateway.forget()


@pytest.mark.parametrize("then", [go_on, lose, lose_in_turn])
async def test_a_link_that_flaps_forgets_nobody(
    discord: DiscordSimulator, tmp_path: Path, then: Callable[[DiscordSimulator, int], None]
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    asked: list[str] = []
    async with serving(
        discord, tmp_path, lambda: solo(*["Here."] * GAPS), clock=discord.world.clock.now
    ) as gateway:
        for gap in range(GAPS):
            await cut(discord)
            then(discord, gap)
            discord.advance(AWAY / 2)
            asked.append(f"question {gap}")
            await alice.mentions(general, asked[-1])
            discord.advance(AWAY / 2)
            discord.gateway.down = False
            await discord.connected()
            discord.advance(BACK)
        await heard(gateway, asked)


class CutAfterReady(Connection):
    """A connection that is cut before it has told of a server."""

    def __init__(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        super().__init__(request, socket)
        self.abort_after = 1


async def test_a_cut_before_a_new_session_has_told_of_its_servers_forgets_nobody(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    clock = discord.world.clock.now
    async with serving(discord, tmp_path, lambda: solo("Here."), clock=clock) as gateway:
        with monkeypatch.context() as flapping:
            flapping.setattr(simulated, "Connection", CutAfterReady)
            await cut(discord)
            discord.gateway.forget()
            discord.advance(AWAY)
            await alice.mentions(general, "question")
            for _ in range(3):
                discord.advance(AWAY)
                greeted = discord.gateway.identifies
                discord.gateway.down = False
                await discord.until(lambda seen=greeted: discord.gateway.identifies > seen)
                await cut(discord)
                discord.gateway.forget()
        discord.gateway.down = False
        await heard(gateway, ["question"])


@pytest.mark.parametrize("resumes", [True, False])
async def test_a_process_that_dies_again_and_again_forgets_nobody(
    discord: DiscordSimulator, tmp_path: Path, resumes: bool
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    asked: list[str] = []
    for gap in range(GAPS + 1):
        async with serving(
            discord,
            tmp_path,
            lambda: solo(*["Here."] * GAPS),
            clock=discord.world.clock.now,
            resumes=resumes,
        ) as gateway:
            if gap == GAPS:
                await heard(gateway, asked)
                return
            discord.advance(BACK)
        discord.advance(AWAY / 2)
        asked.append(f"question {gap}")
        await alice.mentions(general, asked[-1])
        discord.advance(AWAY / 2)


async def cut(discord: DiscordSimulator) -> None:
    """Cut the link until the bot has tried to connect in vain."""
    turned_away = discord.gateway.turned_away
    discord.gateway.down = True
    discord.gateway.abort()
    await discord.until(lambda: discord.gateway.turned_away > turned_away)
