"""Work folders at the ends of turns, on both databases."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.base.paths import make_private
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.records import Checkpoint
from gateway.store.sqlite.store import SqliteStore
from gateway.store.turn_records import TurnUpdate
from gateway.store.units import deletion
from gateway.store.work import rows
from gateway.store.work.contents import WorkLimits
from tests.fakes.new_store import is_on_postgres, new_store
from tests.fakes.postgres_databases import database_of
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import begun, end

pytestmark = pytest.mark.usefixtures("database")

SAFE_POINT = TurnUpdate(checkpoints=(Checkpoint(kind="snapshot", data=b"x"),))
MB = 1_000_000


def store_in(folder: Path, **limits: Any) -> Any:
    new_store(folder)
    if is_on_postgres():
        return PostgresStore(Database(url=database_of(folder), work=WorkLimits(**limits)), folder)
    return SqliteStore(folder, limits=WorkLimits(**limits))


@asynccontextmanager
async def opened(folder: Path, **limits: Any) -> AsyncGenerator[tuple[Any, Path]]:
    store = store_in(folder, **limits)
    async with store.own():
        yield store, await store.work_folder("t")


async def turn(store: Any, work: Path, **files: str | bytes | None) -> None:
    """A turn that writes files, or removes them, and ends."""
    claimed = await begun(store)
    make_private(work)
    for name, text in files.items():
        if text is None:
            (work / name).unlink()
        else:
            (work / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    await end(store, claimed)


async def versions(store: Any, turns: Iterable[int]) -> list[str | None]:
    """Files at the end of each turn, with their first letters."""
    found: list[str | None] = []
    for n in turns:
        at = await store.read(lambda connection, n=n: rows.entries_at(connection, "t", n))
        if at is None:
            found.append(None)
            continue
        wanted = {each.sha256: each.size for each in at.values() if each.sha256}
        texts = dict(await store.read(lambda c, w=wanted: [*contents(store).read(c, "t", w)]))
        told = [f"{path}={texts.get(each.sha256, b'')[:5].decode()}" for path, each in at.items()]
        found.append(" ".join(sorted(told)))
    return found


def contents(store: Any) -> Any:
    return store._work._contents


def kept_bytes(folder: Path) -> int:
    """Bytes of contents in the store."""
    if is_on_postgres():
        import psycopg

        with psycopg.connect(database_of(folder)) as connection:
            row = connection.execute("SELECT COALESCE(SUM(size), 0) FROM contents").fetchone()
            return int(row[0]) if row else 0
    return sum(each.stat().st_size for each in (folder / "versions").rglob("*") if each.is_file())


def content_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("versions/*/*"))


async def test_each_turn_has_the_folder_as_it_was_at_its_end(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work)
        await turn(store, work, a="one", b="b")
        await turn(store, work, a="two")
        await turn(store, work)
        await turn(store, work, b=None, c="one")
        found = await versions(store, range(1, 6))
    assert found == ["", "a=one b=b", "a=two b=b", "a=two b=b", "a=two c=one"]
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="three")
        assert await versions(store, [2, 5, 6]) == ["a=one b=b", "a=two c=one", "a=three c=one"]


async def test_contents_that_change_places_stay(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one", b="two")
        await turn(store, work, a="two", b="one")
        assert await versions(store, [1, 2]) == ["a=one b=two", "a=two b=one"]


async def test_what_a_turn_changes_twice_counts_as_at_its_end(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one")
        claimed = await begun(store)
        for text in ("half", "whole"):
            (work / "a").write_text(text)
            await store.record(claimed.lease, SAFE_POINT)
        await end(store, claimed)
        assert await versions(store, [1, 2]) == ["a=one", "a=whole"]
    assert kept_bytes(tmp_path) == len("onewhole")


async def test_a_turn_that_changes_nothing_costs_nothing(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one", b="two")
        before, names = kept_bytes(tmp_path), content_files(tmp_path)
        stored = await rows_of(store, "SELECT * FROM work_folders")
        for _ in range(3):
            await turn(store, work)
        assert await rows_of(store, "SELECT * FROM work_folders") == stored
        assert await rows_of(store, "SELECT * FROM work_versions") == []
        assert (kept_bytes(tmp_path), content_files(tmp_path)) == (before, names)
        assert await versions(store, [4]) == ["a=one b=two"]


@pytest.mark.parametrize("size", [5_000, pytest.param(5 * MB, marks=pytest.mark.nightly)])
async def test_a_turn_that_changes_10_mb_of_500_costs_the_10(tmp_path: Path, size: int):
    async with opened(tmp_path, work_mb=600.0) as (store, work):
        parts = {f"f{n}": os.urandom(size) for n in range(100)}
        await turn(store, work, **parts)
        assert kept_bytes(tmp_path) == 100 * size
        times = {path: path.stat().st_mtime_ns for path in content_files(tmp_path)}
        await turn(store, work, f7=os.urandom(size), f70=os.urandom(size))
        assert kept_bytes(tmp_path) == 102 * size
        assert {path: path.stat().st_mtime_ns for path in times} == times


async def test_the_oldest_versions_go_first_and_the_folder_itself_does_not_count(tmp_path: Path):
    async with opened(tmp_path, work_mb=1.0) as (store, work):
        await turn(store, work, still=bytes(600_000))
        for n in range(5):
            await turn(store, work, a=f"{n}" + "x" * 300_000)
        assert await versions(store, range(1, 7)) == [
            *(None, None),
            *(f"a={n}xxxx still=\0\0\0\0\0" for n in range(1, 5)),
        ]
    assert kept_bytes(tmp_path) == 600_000 + 4 * 300_001


async def test_as_many_turns_are_kept_as_the_config_says(tmp_path: Path):
    async with opened(tmp_path, fork_turns=3) as (store, work):
        for n in range(6):
            await turn(store, work, a=f"{n}")
        assert (await versions(store, range(1, 7)))[-3:] == ["a=3", "a=4", "a=5"]
        assert (await versions(store, [1, 2])) == [None, None]


async def test_without_forks_a_store_of_files_keeps_no_version(tmp_path: Path):
    async with opened(tmp_path, fork_turns=0) as (store, work):
        await turn(store, work, a="one")
        await turn(store, work, a="two")
    assert kept_bytes(tmp_path) == (3 if is_on_postgres() else 0)


async def test_versions_go_with_their_thread(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one")
        await turn(store, work, a="two")
        await store.run(deletion.delete_thread, "t")
    assert kept_bytes(tmp_path) == 0
    assert content_files(tmp_path) == []
    assert not (tmp_path / "versions" / "t").exists()


async def test_what_a_crash_left_goes_at_the_next_start(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one")
        await turn(store, work, a="two")
        taken = contents(store).taken("t")
        taken.take(b"of a turn that was never stored")
    if not is_on_postgres():
        (tmp_path / "versions" / "t" / ".half").write_text("ha")
        (tmp_path / "versions" / "gone").mkdir()
    async with opened(tmp_path) as (store, work):
        assert kept_bytes(tmp_path) == len("onetwo")
        assert await versions(store, [1, 2]) == ["a=one", "a=two"]


async def test_a_turn_that_is_not_stored_loses_nothing(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one")
        claimed = await begun(store)
        (work / "a").write_text("two")
        ending = asyncio.ensure_future(end(store, claimed))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
    async with opened(tmp_path) as (store, work):
        assert await versions(store, [1, 2]) == ["a=one", "a=two"]


async def test_a_fork_that_a_crash_cuts_short_leaves_nothing(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one")
        assert await store.fork_folder("t", 1, "f")
    async with opened(tmp_path):
        assert [each.name for each in work.parent.iterdir()] == ["t"]
        assert not (tmp_path / "versions" / "f").exists()


async def test_a_damaged_version_is_told_and_the_folder_of_now_taken(tmp_path: Path):
    async with opened(tmp_path) as (store, work):
        await turn(store, work, a="one")
        await turn(store, work, a="two")
        if is_on_postgres():
            assert await store.fork_folder("t", 1, "f")
            return
        for file in content_files(tmp_path):
            file.write_bytes(b"\0\0\0")
        assert not await store.fork_folder("t", 1, "f")
        assert (work.with_name("f") / "a").read_text() == "two"
