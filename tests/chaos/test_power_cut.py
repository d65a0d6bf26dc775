"""Power cuts: acknowledged messages survive."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.store.sqlite.store import SqliteStore
from tests.chaos.process import ROOT
from tests.chaos.sqlite_layer import dynamic

pytestmark = [
    pytest.mark.sqlite,
    pytest.mark.chaos,
    pytest.mark.timeout(240),
    pytest.mark.skipif(
        not dynamic() and "CI" not in os.environ, reason="this Python's SQLite is linked statically"
    ),
]

SEEDS, PER_CHANGE = 30, 8
"""Cuts of power; `make nightly` has those that do not run per change."""


@dataclass
class Cut:
    """A process's output before its power cut, and the disk's state."""

    acknowledged: set[str]
    found: set[str]

    @property
    def lost(self) -> set[str]:
        return self.acknowledged - self.found


async def cut(folder: Path, seed: int, level: str) -> Cut:
    """Run a process until its power cut, and open the survivors."""
    survivors = folder / "survivors"
    writes = random.Random(seed).randrange(50, 9000)  # checkpoints are cut, too
    command = [sys.executable, "-m", "tests.chaos.power_cut_child"]
    arguments = [str(folder / "store"), str(survivors), str(seed), str(writes), level]
    process = await asyncio.create_subprocess_exec(
        *command, *arguments, cwd=ROOT, stdout=PIPE, stderr=PIPE
    )
    output, trouble = await process.communicate()
    assert process.returncode == 0, trouble.decode()
    # A line that the cut has torn was never told whole.
    told = output[: output.rfind(b"\n") + 1].decode()
    async with SqliteStore(survivors).own():
        with sqlite3.connect(f"file:{survivors / 'parley.db'}?mode=ro", uri=True) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            found = {row[0] for row in connection.execute("SELECT message_id FROM inbox")}
        connection.close()
    return Cut(set(told.split()), found)


@pytest.mark.parametrize(
    "seeds",
    [range(PER_CHANGE), pytest.param(range(PER_CHANGE, SEEDS), marks=pytest.mark.nightly)],
    ids=["some", "all others"],
)
async def test_nothing_that_was_acknowledged_is_lost_in_a_power_cut(
    tmp_path: Path, seeds: range
) -> None:
    acknowledged = 0
    for seed in seeds:
        result = await cut(tmp_path / str(seed), seed, "FULL")
        assert not result.lost, f"seed {seed}"
        acknowledged += len(result.acknowledged)
    assert acknowledged > 10 * len(seeds)  # the cuts came while messages were being taken


async def test_a_store_that_does_not_sync_each_commit_loses_some(tmp_path: Path) -> None:
    """So the test above can fail."""
    lost = 0
    for seed in range(SEEDS):
        result = await cut(tmp_path / str(seed), seed, "NORMAL")
        lost += len(result.lost)
        if lost:
            return
    pytest.fail("synchronous=NORMAL lost nothing: the cut does not bite")
