"""Sessions begin no faster than Discord allows, on all nodes together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.discord.connection import identify_gate, rate_limits
from adapters.discord.connection.identify_gate import IdentifyGate
from adapters.discord.connection.rate_limits import Buckets
from adapters.discord.connection.rest import Rest
from adapters.discord.testing import DiscordSimulator, ServerError
from gateway.pacing.pacer import Pacer
from gateway.rates import LIFE, DrawnTokens, RateLimit, SharedRate
from tests.fakes.hand_clock import HandClock

SESSIONS = rate_limits.SESSIONS


class Row:
    """A node's way to a bucket in the table that nodes share."""

    def __init__(self, rows: dict[str, float], limit: RateLimit, clock: HandClock) -> None:
        self.is_shared = "identify" in limit.name
        self.failing = False
        self._rows = rows
        self._limit = limit
        self._clock = clock

    def draw(self, most: int, *, reserve: float = 0.0) -> asyncio.Future[DrawnTokens]:
        now, drawn = self._clock.time(), asyncio.get_running_loop().create_future()
        wait = 1.0 if self.failing else self._rows.get(self._limit.name, now) - now
        if wait <= 0:
            self._rows[self._limit.name] = now + 60 / self._limit.per_minute
        drawn.set_result(DrawnTokens(tokens=int(wait <= 0), wait=max(0.0, wait), level=0.0))
        return drawn

    def close(self, seconds: float) -> None:
        raise AssertionError("sessions are refused in another way")


class Host:
    """A node's marks, which are in a table that nodes share."""

    def __init__(self, kept: dict[str, str]) -> None:
        self.kept = kept
        self.strangers: list[int] = []

    async def read(self, platform: str, name: str = "") -> dict[str, str]:
        return {name: self.kept[name]} if name in self.kept else {}

    async def keep(self, platform: str, name: str, value: str) -> None:
        self.kept[name] = value

    def note_strangers(self, adapter: str, found: int) -> None:
        self.strangers.append(found)

    @property
    def health(self) -> Host:
        return self

    marks = health


class Gates:
    """Two nodes' gates, and when they let shards pass."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.clock = HandClock()
        self.passed: dict[int, float] = {}
        self.rows: list[Row] = []
        self._rows: dict[str, float] = {}
        self._group = group
        self._gates: list[IdentifyGate] = []
        kept = dict[str, str]()
        self.hosts = [Host(kept), Host(kept)]

    def add(self, rest: Rest) -> None:
        host: Any = self.hosts[len(self._gates)]
        self._gates.append(IdentifyGate(host, rest, self.clock))

    def watch(self, node: int) -> asyncio.Task[None]:
        """A node looks for the sessions of others."""
        return self._group.create_task(self._gates[node].watch())

    def share(self, limit: RateLimit) -> SharedRate:
        self.rows.append(Row(self._rows, limit, self.clock))
        return self.rows[-1]

    def ask(self, node: int, shard: int) -> None:
        """A node wants to begin a session of a shard."""
        self._group.create_task(self._pass(node, shard))

    async def _pass(self, node: int, shard: int) -> None:
        await self._gates[node].wait(shard)
        self.passed[shard] = self.clock.time() - 1000

    async def pass_time(self, seconds: float) -> None:
        """Move the clock step by step, and let the gates answer."""
        for _ in range(int(seconds * 4)):
            self.clock.advance(0.25)
            await asyncio.sleep(0.001)  # answers are on their way

    async def let(self, discord: DiscordSimulator, shards: int) -> None:
        """Move the clock until so many have passed."""
        before = -1
        while len(self.passed) < shards:
            if len(discord.calls("GET", "/gateway/bot")) == before:
                self.clock.advance(0.25)
            before = len(discord.calls("GET", "/gateway/bot"))
            await asyncio.sleep(0.001)  # answers are on their way
        assert len(self.passed) == shards


@pytest.fixture
async def gates(discord: DiscordSimulator, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gates]:
    monkeypatch.setattr(rate_limits, "SESSIONS", SESSIONS)
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        found = Gates(group)
        for _ in range(2):
            buckets = Buckets(Pacer(found.share, found.clock))
            rest = Rest(SecretStr(discord.token), discord.api_url, buckets)
            found.add(await stack.enter_async_context(rest))
        yield found


async def test_shards_of_a_bucket_begin_five_seconds_apart_over_all_nodes(
    gates: Gates, discord: DiscordSimulator
) -> None:
    for shard in range(4):
        gates.ask(shard % 2, shard)
    await gates.let(discord, 4)
    times = sorted(gates.passed.values())
    assert all(later - earlier >= 5 for earlier, later in pairwise(times))
    assert times[-1] < 4 * 7


async def test_shards_of_different_buckets_begin_side_by_side(
    gates: Gates, discord: DiscordSimulator
) -> None:
    discord.gateway.starts.max_concurrency = 2
    for shard in range(4):
        gates.ask(shard % 2, shard)
    await gates.let(discord, 4)
    assert abs(gates.passed[0] - gates.passed[1]) < 3
    assert abs(gates.passed[2] - gates.passed[0]) >= 5


async def test_where_none_may_begin_today_nobody_does(
    gates: Gates, discord: DiscordSimulator
) -> None:
    discord.gateway.starts.total = 0
    gates.ask(0, 0)
    await discord.until(lambda: discord.calls("GET", "/gateway/bot"))
    await gates.pass_time(10)
    assert gates.passed == {}
    discord.gateway.starts.total = 1
    await gates.let(discord, 1)


async def test_without_an_answer_of_discord_the_strictest_limit_holds(
    gates: Gates, discord: DiscordSimulator
) -> None:
    discord.faults.plan(ServerError(503), path="/gateway/bot", times=2)
    gates.ask(0, 0)
    gates.ask(1, 1)
    await gates.let(discord, 2)
    assert abs(gates.passed[1] - gates.passed[0]) >= 5


async def test_a_database_that_is_away_keeps_everybody_waiting(
    gates: Gates, discord: DiscordSimulator
) -> None:
    gates.ask(0, 0)
    await gates.let(discord, 1)
    for row in gates.rows:
        row.failing = True
    gates.ask(0, 1)
    await discord.until(lambda: len(discord.calls("GET", "/gateway/bot")) == 2)
    await gates.pass_time(8)
    assert list(gates.passed) == [0]
    for row in gates.rows:
        row.failing = False
    await gates.let(discord, 2)


def test_a_bucket_begins_no_second_session_in_five_seconds() -> None:
    assert 60 / SESSIONS.per_minute - LIFE >= 5
    assert SESSIONS.burst == 1


async def test_sessions_that_no_node_has_begun_are_noticed(
    gates: Gates, discord: DiscordSimulator
) -> None:
    starts = discord.gateway.starts
    watching = gates.watch(1)
    for shard in range(3):
        gates.ask(shard % 2, shard)
        await gates.let(discord, shard + 1)
        discord.advance(6)
        assert starts.admit(0)  # as its node does now
    assert {found for host in gates.hosts for found in host.strangers} == {0}
    discord.advance(6)
    assert starts.admit(0)  # as nobody's node
    gates.clock.advance(identify_gate.COUNT_SECONDS)
    await discord.until(lambda: gates.hosts[1].strangers[-1:] == [1])
    gates.clock.advance(identify_gate.COUNT_SECONDS)
    await discord.until(lambda: gates.hosts[1].strangers[-1:] == [0])
    watching.cancel()


@pytest.mark.parametrize("nodes", [1, 2])
async def test_shards_that_wait_together_are_no_strangers(
    gates: Gates, discord: DiscordSimulator, nodes: int
) -> None:
    """Each has asked for the limit before an earlier one begins."""
    starts, shards = discord.gateway.starts, 4
    watching, told = gates.watch(0), gates.hosts[0].strangers
    for shard in range(shards):
        gates.ask(shard % nodes, shard)
    for begun in range(1, shards + 1):
        await gates.let(discord, begun)
        discord.advance(6)
        assert starts.admit(0)
    assert len(discord.calls("GET", "/gateway/bot")) == shards
    before = len(told)
    gates.clock.advance(identify_gate.COUNT_SECONDS)
    await discord.until(lambda: len(told) > before)
    watching.cancel()
    assert {found for host in gates.hosts for found in host.strangers} == {0}
