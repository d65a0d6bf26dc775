"""Random units side by side leave a store with no fault."""

import asyncio
from itertools import count
from random import Random
from typing import Any

import psycopg
import pytest

from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from tests.fakes.store_race import StoreRace


class Lingering:
    """A connection that rests before some statements, so that others pass."""

    def __init__(self, connection, random: Random) -> None:
        self._connection, self._random = connection, random

    def __getattr__(self, name):
        method = getattr(self._connection, name)
        if not callable(method):
            return method

        def call(*parameters, **named):
            if self._random.random() < 0.04:
                self._connection.fetch("SELECT 1 FROM pg_sleep(0.02)")
            return method(*parameters, **named)

        return call


class LingeringStore(PostgresStore):
    """A store whose units take longer than they need."""

    random = Random(1)

    async def write(self, unit, then=None, *, alone=False):
        def lingering(connection):
            slow: Any = Lingering(connection, self.random)
            return unit(slow)

        return await super().write(lingering, then, alone=alone)


async def cut(url):
    """End one of the store's connections after the other."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        while True:
            await connection.execute(
                "SELECT pg_terminate_backend(pid), pg_sleep(0.4) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name LIKE 'parley %%'"
                " AND state <> 'idle' ORDER BY random() LIMIT 1"
            )


async def race(url, folder, seed, operations, *, cuts=False):
    times = count(1_000_000)
    store = LingeringStore(Database(url=url, pool_size=8), folder, clock=lambda: float(next(times)))
    store.random = Random(seed)
    async with store.own():
        racing = StoreRace(store, Random(seed))
        cutting = asyncio.ensure_future(cut(url)) if cuts else None
        try:
            await racing.run(operations)
        finally:
            if cutting is not None:
                assert cutting.cancel(), cutting.exception()
                await asyncio.wait([cutting])
        assert await racing.faults() == []
    return racing.done


async def test_units_by_chance_keep_all_laws(postgres_url, tmp_path):
    done = await race(postgres_url, tmp_path, 1, 150)
    assert done.keys() >= {"_turn", "_say"}  # in 150, `_clean` comes up by chance


@pytest.mark.chaos
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("seed", "units"),
    [(2, 400), *(pytest.param(seed, 1_000, marks=pytest.mark.nightly) for seed in (2, 3))],
)
async def test_more_units_by_chance_keep_all_laws(postgres_url, tmp_path, seed, units):
    await race(postgres_url, tmp_path, seed, units)


@pytest.mark.chaos
@pytest.mark.timeout(60)
async def test_units_whose_connections_are_lost_keep_all_laws(postgres_url, tmp_path):
    await race(postgres_url, tmp_path, 4, 200, cuts=True)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 110))
async def test_many_units_by_chance_keep_all_laws(postgres_url, tmp_path, seed):
    await race(postgres_url, tmp_path, seed, 3_000)
