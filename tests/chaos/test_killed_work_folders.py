"""Processes that are killed while they store or load a work folder."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.base.paths import make_private
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from tests.fakes.work_folders import (
    SAFE_POINT,
    begun,
    claimed_again,
    elsewhere,
    opened,
    rows,
    tree,
)

FILES = 30
KILLS = 3
ROOT = Path(__file__).parents[2]


async def write_generations(url: str, folder: Path) -> None:
    """Store the folder again and again, each round with its number."""
    store = PostgresStore(Database(url=url), folder)
    async with store.own():
        lease = await claimed_again(store, "t")
        work = await store.work_folder("t")
        make_private(work)
        texts = [each.read_text() for each in work.iterdir()]
        number = max([int(text.split()[0]) for text in texts if text], default=0)
        while True:
            number += 1
            for each in range(FILES):
                (work / f"{number % 3}-{each}").write_text(f"{number} " * 10_000)
                (work / f"{(number + 1) % 3}-{each}").unlink(missing_ok=True)
            await store.record(lease, SAFE_POINT)
            print(number, flush=True)  # noqa: T201 (for the process that kills)


async def load_again_and_again(url: str, folder: Path) -> None:
    """Load the folder anew each time."""
    while True:
        (folder / "work-notes" / "t").unlink(missing_ok=True)
        await elsewhere(url, folder)
        print("loaded", flush=True)  # noqa: T201 (for the process that kills)


def killed(call: str, after: float) -> str:
    """The last whole line of a process that is soon killed."""
    program = f"import asyncio; from pathlib import Path; from {__name__} import *; {call}"
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.kill()
    lines = [first, *process.stdout.read().splitlines(keepends=True)]
    process.stdout.close()
    process.wait()
    return [line for line in lines if line.endswith("\n")][-1].strip()


@pytest.mark.chaos
async def test_what_is_stored_is_one_safe_point(postgres_url: str, tmp_path: Path):
    chance = random.Random(24)
    store = PostgresStore(Database(url=postgres_url), tmp_path / "a")
    async with store.own():
        await begun(store, "t")
    for kill in range(KILLS):
        call = f"asyncio.run(write_generations({postgres_url!r}, Path({str(tmp_path / 'a')!r})))"
        told = int(await asyncio.to_thread(killed, call, chance.uniform(0.0, 0.3)))
        copy = await elsewhere(postgres_url, tmp_path / f"b{kill}")
        numbers = [int(each.read_text().split()[0]) for each in copy.iterdir()]
        assert max(numbers) >= told
        assert sorted(numbers) == sorted(
            [max(numbers)] * FILES + ([max(numbers) - 1] * FILES if max(numbers) > 1 else [])
        )


@pytest.mark.chaos
async def test_a_load_that_is_killed_leaves_a_copy_or_none(postgres_url: str, tmp_path: Path):
    chance = random.Random(24)
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        for number in range(FILES):
            (work / f"{number}").write_bytes(os.urandom(400_000))
        await store.record(lease, SAFE_POINT)
    for _ in range(KILLS):
        call = f"asyncio.run(load_again_and_again({postgres_url!r}, Path({str(tmp_path / 'b')!r})))"
        await asyncio.to_thread(killed, call, chance.uniform(0.0, 0.3))
        other = PostgresStore(Database(url=postgres_url), tmp_path / "b")
        async with other.own():
            assert tree(await other.work_folder("t")) == tree(work)
            assert os.listdir(tmp_path / "b" / "work") == ["t"]
    assert rows(postgres_url, "SELECT count(*) FROM work_files") == [(FILES,)]
