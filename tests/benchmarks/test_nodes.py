"""The load that `benchmarks/nodes/` puts on processes of `parley serve`."""

from __future__ import annotations

import pytest

from benchmarks.nodes.scenarios import busy
from tests.fakes.postgres_server import PostgresServer


@pytest.mark.nightly
@pytest.mark.timeout(60)
async def test_a_node_answers_each_message_of_the_load_once():
    with PostgresServer() as server:
        found = await busy(server, 1, threads=4)
    assert found["messages a second"][0] > 0
    assert 1 <= found["connections of a node"][0] <= 11
    assert found["CPU of PostgreSQL a message"][0] >= 0
