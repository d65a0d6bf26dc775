"""Leases of nodes, and turns that run on others."""

import pytest

from gateway.store.units import lanes, nodes
from gateway.store.units import rows as row_units
from tests.fakes.new_store import new_store
from tests.gateway.store.test_contract import KEY, NEW

pytestmark = pytest.mark.usefixtures("database")


async def test_who_is_no_node_has_no_lease_and_runs_nothing(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=KEY)
        assert not await store.write(lambda connection: nodes.hold(connection, "shard 0", "b1"))
        await store.run(nodes.release, "shard 0", "b1")
        assert await store.run(lanes.running_elsewhere, "b1") == frozenset()
        assert all("shard 0" not in each.leases for each in await store.run(nodes.nodes))
