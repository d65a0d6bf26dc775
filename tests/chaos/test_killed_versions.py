"""Processes that are killed while they store versions of a work folder."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from gateway.base.paths import make_private
from gateway.store.records import Checkpoint
from gateway.store.turn_records import TurnUpdate
from gateway.store.work import rows
from tests.chaos.test_killed_work_folders import killed
from tests.fakes.new_store import is_on_postgres, new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import begun, end

pytestmark = [pytest.mark.chaos, pytest.mark.usefixtures("database")]

FILES = 10
KILLS = 3
FAIL = "UPDATE turns SET status = 'failed' WHERE status = 'running'"
DONE = (
    "SELECT n FROM turns WHERE status = 'done'"
    " AND n >= (SELECT kept_from FROM work_folders WHERE thread = 't') ORDER BY n"
)


async def write_versions(folder: Path) -> None:
    """End turns, each with its number in half of the files."""
    store = new_store(folder)
    async with store.own():
        await store.write(lambda connection: connection.execute(FAIL))
        while True:
            work = await begun(store)
            [[n]] = await rows_of(store, "SELECT MAX(n) FROM turns")
            place = await store.work_folder("t")
            make_private(place)
            for each in range(n % 2, FILES, 2):
                (place / f"{each}").write_text(f"{n} " * 20_000)
            state = Checkpoint(kind="snapshot", data=f"{n}".encode())
            await store.record(work.lease, TurnUpdate(checkpoints=(state,)))
            await end(store, work)
            print(n, flush=True)  # noqa: T201 (for the process that kills)


async def versions(store: Any) -> dict[int, dict[str, int]]:
    """Numbers in the files at the end of each turn."""
    found: dict[int, dict[str, int]] = {}
    contents = store._work._contents
    for (n,) in await rows_of(store, DONE):
        at = await store.read(lambda connection, n=n: rows.entries_at(connection, "t", n))
        assert at is not None
        sizes = {each.sha256: each.size for each in at.values() if each.sha256}
        texts = dict(await store.read(lambda c, s=sizes: [*contents.read(c, "t", s)]))
        texts[""] = b"0"  # a file of which the kill left nothing
        found[n] = {path: int(texts[each.sha256].split()[0]) for path, each in at.items()}
    return found


async def test_no_kill_loses_a_version_or_leaves_an_orphan(tmp_path: Path):
    chance, before = random.Random(45), dict[int, dict[str, int]]()
    call = f"from {__name__} import *; asyncio.run(write_versions(Path({str(tmp_path)!r})))"
    for _ in range(KILLS):
        told = int(await asyncio.to_thread(killed, call, chance.uniform(0.1, 0.5)))
        store = new_store(tmp_path)
        async with store.own():
            found = await versions(store)
            named = await store.read(lambda connection: rows.hashes(connection, "t"))
            if is_on_postgres():
                assert {
                    row[0] for row in await rows_of(store, "SELECT sha256 FROM contents")
                } == named
            else:
                assert {each.name for each in (tmp_path / "versions" / "t").iterdir()} == named
        assert max(found) >= told
        for n, files in found.items():
            assert {files[f"{each}"] for each in range(n % 2, FILES, 2)} == {n}
            assert max(files.values()) == n
            assert before.get(n, files) == files
        before = found
