"""Nodes lose, double and mix up nothing, whatever happens to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.nodes.run import run_nodes
from tests.fakes.forked import load
from tests.fakes.postgres_server import PostgresServer

SOAKED = 50


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    load()
    with PostgresServer() as server:
        yield server


@pytest.mark.chaos
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))]
)
async def test_each_message_has_one_answer_in_order_whatever_happens_to_nodes(
    seed: int, server: PostgresServer, tmp_path: Path
) -> None:
    result = await run_nodes(seed, tmp_path, server)
    assert result.verdict, result.explain()


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(SOAKED))
async def test_fifty_seeds_with_all_faults(
    seed: int, server: PostgresServer, tmp_path: Path
) -> None:
    result = await run_nodes(seed, tmp_path, server, long=True)
    assert result.verdict, result.explain()
    print(result.summary())  # noqa: T201 (for the closing note)
