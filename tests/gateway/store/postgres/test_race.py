"""Any units side by side leave a store in which all laws hold."""

from itertools import count
from random import Random

import pytest

from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from tests.fakes.store_race import StoreRace


class Lingering:
    """A connection that rests before some statements, so that others pass."""

    def __init__(self, connection, random):
        self._connection, self._random = connection, random

    def __getattr__(self, name):
        method = getattr(self._connection, name)

        def call(*parameters):
            if self._random.random() < 0.04:
                self._connection.fetch("SELECT 1 FROM pg_sleep(0.02)")
            return method(*parameters)

        return call


class LingeringStore(PostgresStore):
    """A store whose units take longer than they need."""

    random = Random(1)

    async def write(self, unit, then=None, *, alone=False):
        def lingering(connection):
            return unit(Lingering(connection, self.random))

        return await super().write(lingering, then, alone=alone)


async def race(url, folder, seed, operations):
    times = count(1_000_000)
    store = LingeringStore(Database(url=url, pool_size=8), folder, clock=lambda: float(next(times)))
    store.random = Random(seed)
    async with store.own():
        racing = StoreRace(store, Random(seed))
        await racing.run(operations)
        assert await racing.faults() == []
    return racing.done


async def test_units_by_chance_keep_all_laws(postgres_url, tmp_path):
    done = await race(postgres_url, tmp_path, 1, 150)
    assert done["_turn"] and done["_say"] and done["_clean"]


@pytest.mark.chaos
@pytest.mark.timeout(60)
@pytest.mark.parametrize("seed", range(2, 4))
async def test_more_units_by_chance_keep_all_laws(postgres_url, tmp_path, seed):
    await race(postgres_url, tmp_path, seed, 1_000)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 110))
async def test_many_units_by_chance_keep_all_laws(postgres_url, tmp_path, seed):
    await race(postgres_url, tmp_path, seed, 3_000)
