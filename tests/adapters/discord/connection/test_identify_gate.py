"""Sessions begin no faster than Discord allows, on all nodes together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from itertools import pairwise
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.discord.connection import identify_gate
from adapters.discord.connection.identify_gate import IdentifyGate
from adapters.discord.connection.rest import Rest
from adapters.discord.testing import DiscordSimulator, ServerError
from gateway.errors import StoreUnreachable
from tests.fakes.hand_clock import HandClock


class Host:
    """A node's leases, which are in a table that nodes share."""

    def __init__(self, leases: dict[str, Host]) -> None:
        self.leases = leases
        self.failing = False

    async def hold(self, lease: str) -> bool:
        if self.failing:
            raise StoreUnreachable("no database")
        return self.leases.setdefault(lease, self) is self

    async def release(self, lease: str) -> None:
        if self.failing:
            raise StoreUnreachable("no database")
        del self.leases[lease]


class Gates:
    """Two nodes' gates, and when they let shards pass."""

    def __init__(self, rest: Rest, group: asyncio.TaskGroup) -> None:
        self.clock = HandClock()
        self.passed: dict[int, float] = {}
        leases: dict[str, Host] = {}
        self.hosts = [Host(leases), Host(leases)]
        self._group = group
        hosts: list[Any] = self.hosts
        self._gates = [IdentifyGate(host, rest, self._start, self.clock) for host in hosts]

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._group.create_task(work, name=name)

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
    monkeypatch.setattr(identify_gate, "BUCKET_SECONDS", 5.25)
    async with (
        Rest(SecretStr(discord.token), discord.api_url) as rest,
        asyncio.TaskGroup() as group,
    ):
        found = Gates(rest, group)
        yield found
        found.clock.advance(100)


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
    gates.hosts[0].failing = True
    gates.ask(0, 0)
    await discord.until(lambda: discord.calls("GET", "/gateway/bot"))
    await gates.pass_time(3)
    assert gates.passed == {}
    gates.hosts[0].failing = False
    await gates.let(discord, 1)


async def test_a_bucket_is_left_to_the_others_though_the_database_was_away(
    gates: Gates, discord: DiscordSimulator
) -> None:
    gates.ask(0, 0)
    await gates.let(discord, 1)
    gates.hosts[0].failing = True
    await gates.pass_time(10)
    gates.ask(1, 1)
    await discord.until(lambda: len(discord.calls("GET", "/gateway/bot")) == 2)
    await gates.pass_time(3)
    assert list(gates.passed) == [0]
    gates.hosts[0].failing = False
    await gates.let(discord, 2)
