"""Work folders: stored with turns, loaded where they are needed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest

from gateway.base.paths import make_private
from gateway.conversation import Attachment
from gateway.errors import LeaseLost, StoreCorrupt, StoreUnreachable
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.integrity import check_rows
from gateway.store.postgres.store import PostgresStore
from gateway.store.records import CallRow, StoreFault
from gateway.store.turn_records import Lease, TurnEnd, TurnUpdate
from gateway.store.units import deletion
from tests.fakes.work_folders import (
    SAFE_POINT,
    begun,
    claimed_again,
    elsewhere,
    opened,
    rows,
    store_on,
    tree,
)

T = TypeVar("T")


async def test_another_node_gets_the_folder_as_it_was(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "deep" / "empty").mkdir(parents=True)
        (work / "deep" / "large").write_bytes(os.urandom(2_500_000))
        (work / "copy").write_bytes((work / "deep" / "large").read_bytes())
        (work / "Case").write_text("upper")
        (work / "case").write_text("lower")
        (work / "nothing").touch()
        (work / "run.sh").write_text("#!/bin/sh\n")
        (work / "run.sh").chmod(0o750)
        (work / "päth with\nnewline").write_text("odd")
        (work / "out").symlink_to("/etc/hostname")
        (work / "back").symlink_to("deep")
        (work / "deep").chmod(0o500)
        os.utime(work / "case", ns=(1, 5_000_000_000))
        await store.record(lease, SAFE_POINT)
        copy = await elsewhere(postgres_url, tmp_path / "b")
        assert tree(copy) == tree(work)
        assert (copy / "case").stat().st_mtime_ns == 5_000_000_000
    assert rows(postgres_url, "SELECT count(*) FROM contents") == [(7,)]
    assert [each.name for each in (tmp_path / "b" / "work").iterdir()] == ["t"]


async def test_a_turn_writes_what_has_changed(postgres_url: str, tmp_path: Path):
    async def written(work: Path, lease: Lease, store: PostgresStore) -> int:
        (work / "notes").write_bytes(os.urandom(1000))
        query = "SELECT pg_current_wal_insert_lsn() - '0/0'"
        ((before,),) = rows(postgres_url, query)
        await store.record(lease, SAFE_POINT)
        return int(rows(postgres_url, query)[0][0] - before)

    async with opened(postgres_url, tmp_path) as (store, lease, work):
        await written(work, lease, store)
        small = await written(work, lease, store)
        for number in range(300):
            (work / f"{number}").write_bytes(os.urandom(20_000))
        everything = await written(work, lease, store)
        large = min([await written(work, lease, store) for _ in range(3)])
    assert everything > 300 * 20_000
    assert large < small + 200_000  # after a checkpoint pages are written whole


async def test_a_thread_without_a_folder_costs_nothing(postgres_url: str, tmp_path: Path):
    reads: list[object] = []

    class CountingStore(PostgresStore):
        async def read(self, unit: Callable[[PostgresConnection], T]) -> T:
            reads.append(unit)
            return await super().read(unit)

    store = CountingStore(Database(url=postgres_url), tmp_path)
    async with store.own():
        lease = await begun(store, "t")
        reads.clear()
        await store.record(lease, SAFE_POINT)
        assert reads == []
    assert rows(postgres_url, "SELECT * FROM work_folders") == []


async def test_updates_that_are_no_safe_points_leave_the_folder_alone(
    postgres_url: str, tmp_path: Path
):
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        (work / "a").write_text("a")
        await store.record(lease, TurnUpdate())
        assert rows(postgres_url, "SELECT path FROM work_files") == []
        call = CallRow(
            key="k", agent=("a",), tool="t", arguments_hash="", status="finished", result="{}"
        )
        await store.record(lease, TurnUpdate(calls=(call,)))
        assert rows(postgres_url, "SELECT path FROM work_files") == [("a",)]


async def test_a_change_that_hides_its_time_and_size_is_seen(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("old")
        await store.record(lease, SAFE_POINT)
        before = (work / "a").stat()
        (work / "a").write_text("new")
        os.utime(work / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
        await store.record(lease, SAFE_POINT)
        assert tree(await elsewhere(postgres_url, tmp_path / "b")) == tree(work)


def make_fifo(work: Path) -> Path:
    os.mkfifo(work / "left")
    return work / "left"


def make_second_name(work: Path) -> Path:
    (work.parent.parent / "elsewhere").write_text("theirs")
    os.link(work.parent.parent / "elsewhere", work / "left")
    return work / "left"


def make_huge(work: Path) -> Path:
    with (work / "left").open("wb") as file:
        file.truncate(2_000_001)
    return work / "left"


def make_no_text(work: Path) -> Path:
    path = work / os.fsdecode(b"left-\xff")
    path.write_text("odd")
    return path


def make_long_path(work: Path) -> Path:
    path = work
    for _ in range(5):
        path /= "n" * 250
    path.mkdir(parents=True)
    return path


def make_deep(work: Path) -> Path:
    path = work.joinpath(*["d"] * 65)
    path.mkdir(parents=True)
    return path


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_fifo, "neither a file nor a folder"),
        (make_second_name, "has a second name"),
        (make_huge, "larger than 2 MB"),
        (make_no_text, "not UTF-8"),
        (make_long_path, "longer than 1000 bytes"),
        (make_deep, "below 64 folders"),
    ],
)
async def test_what_can_not_be_stored_stays_on_its_machine_and_is_told_once(
    postgres_url: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    make: Callable[[Path], Path],
    reason: str,
):
    caplog.set_level(logging.WARNING, "gateway.store")
    async with opened(postgres_url, tmp_path / "a", file_mb=2.0) as (store, lease, work):
        left = make(work)
        (work / "kept").write_text("kept")
        for _ in range(2):
            await store.record(lease, SAFE_POINT)
        assert len(caplog.records) == 1
        assert reason in caplog.text
        copy = await elsewhere(postgres_url, tmp_path / "b")
        assert (copy / "kept").read_text() == "kept"
        assert str(left.relative_to(work)) not in tree(copy)
    await store_on(postgres_url, tmp_path / "b", "kept", "changed there")
    back = await elsewhere(postgres_url, tmp_path / "a")
    assert (back / "kept").read_text() == "changed there"
    assert left.lstat()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_an_unreadable_file_is_told(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        (work / "shut").touch(mode=0o000)
        (work / "shut").write_text("x")
        await store.record(lease, SAFE_POINT)
    assert "'shut' (it can't be read (Permission denied))" in caplog.text


async def test_a_folder_beyond_its_limit_keeps_what_is_stored(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async with opened(postgres_url, tmp_path, work_mb=1.0) as (store, lease, work):
        (work / "old").write_bytes(bytes(600_000))
        await store.record(lease, SAFE_POINT)
        (work / "a").write_bytes(bytes(500_000))
        (work / "b").write_bytes(bytes(300_000))
        await store.record(lease, SAFE_POINT)
        assert rows(postgres_url, "SELECT path FROM work_files ORDER BY path") == [("b",), ("old",)]
        assert "'a' (the folder is larger than 1 MB)" in caplog.text
        (work / "old").unlink()
        await store.record(lease, SAFE_POINT)
        assert rows(postgres_url, "SELECT path FROM work_files ORDER BY path") == [("a",), ("b",)]


async def test_a_copy_that_is_ahead_of_its_rows_stays_and_is_stored_next(
    postgres_url: str, tmp_path: Path
):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("stored")
        await store.record(lease, SAFE_POINT)
        (work / "a").write_text("not yet")
        (work / "new").write_text("nor this")
    again = PostgresStore(Database(url=postgres_url), tmp_path / "a")
    async with again.own():
        lease = await claimed_again(again, "t")
        folder = await again.work_folder("t")
        assert (folder / "a").read_text() == "not yet"
        await again.record(lease, SAFE_POINT)
        assert tree(await elsewhere(postgres_url, tmp_path / "b")) == tree(folder)


async def test_a_turn_that_is_not_committed_stores_no_file_and_loses_none(
    postgres_url: str, tmp_path: Path
):
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        (work / "a").write_text("a")
        with pytest.raises(LeaseLost):
            await store.record(Lease(thread="t", turn=lease.turn, epoch=0), SAFE_POINT)
        assert rows(postgres_url, "SELECT path FROM work_files") == []
        await store.record(lease, SAFE_POINT)
        assert rows(postgres_url, "SELECT path FROM work_files") == [("a",)]


async def test_a_turn_on_an_old_copy_is_refused(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("one")
        await store.record(lease, SAFE_POINT)
        with psycopg.connect(postgres_url) as connection:
            connection.execute("UPDATE work_folders SET version = 'of another node'")
        (work / "a").write_text("two")
        with pytest.raises(LeaseLost):
            await store.record(lease, SAFE_POINT)
        assert (await store.work_folder("t") / "a").read_text() == "one"


async def test_a_cancelled_caller_leaves_its_files_to_be_stored(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        (work / "a").write_text("a")
        caller = asyncio.ensure_future(store.record(lease, SAFE_POINT))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await store.record(lease, TurnUpdate(end=TurnEnd(status="paused")))
        assert rows(postgres_url, "SELECT path FROM work_files") == [("a",)]
        assert rows(postgres_url, "SELECT count(*) FROM checkpoints") == [(1,)]


async def test_after_a_restart_of_the_machine_the_stored_files_count(
    postgres_url: str, tmp_path: Path
):
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        (work / "a").write_text("whole")
        await store.record(lease, SAFE_POINT)
    note = tmp_path / "work-notes" / "t"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"machine": "an earlier start"}))
    (work / "a").write_text("")  # as a file may be that was not written to the disk in time
    assert (await elsewhere(postgres_url, tmp_path) / "a").read_text() == "whole"


async def test_a_load_that_was_cut_short_is_finished_at_the_start(
    postgres_url: str, tmp_path: Path
):
    async with opened(postgres_url, tmp_path / "a", file_mb=0.001) as (store, lease, work):
        (work / "a").write_text("a")
        (work / "large").write_bytes(bytes(2000))
        await store.record(lease, SAFE_POINT)
    work.rename(work.with_name(".t.1234.old"))
    work.with_name(".t.1234.new").mkdir()
    async with store.own():
        assert [each.name for each in work.parent.iterdir()] == ["t"]
        assert sorted(os.listdir(work)) == ["a", "large"]


async def test_what_is_deleted_leaves_neither_rows_nor_files(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        (work / "a").write_text("a")
        other = await begun(store, "u")
        (await store.work_folder("u")).mkdir()
        (await store.work_folder("u") / "b").write_text("a")
        await store.record(other, SAFE_POINT)
        await store.record(lease, SAFE_POINT)
        await store.run(deletion.delete_thread, "t")
        assert rows(postgres_url, "SELECT thread, path FROM work_files") == [("u", "b")]
        assert rows(postgres_url, "SELECT size FROM contents") == [(1,)]
        await store.run(deletion.delete_thread, "u")
        assert rows(postgres_url, "SELECT * FROM contents") == []
        assert rows(postgres_url, "SELECT * FROM content_parts") == []
        assert not list((tmp_path / "work").iterdir())
        assert not list((tmp_path / "work-notes").iterdir())


async def test_an_attachment_and_a_file_share_their_contents(postgres_url: str, tmp_path: Path):
    data = b"0123456789" * 150_000
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        await begun(store, "u", Attachment(name="a.txt", media_type="text/plain", data=data))
        (work / "a.txt").write_bytes(data)
        await store.record(lease, SAFE_POINT)
        assert rows(postgres_url, "SELECT size FROM contents") == [(1_500_000,)]
        await store.run(deletion.delete_thread, "u")
        assert (await elsewhere(postgres_url, tmp_path / "b") / "a.txt").read_bytes() == data
        (work / "a.txt").unlink()
        await store.record(lease, SAFE_POINT)
        assert rows(postgres_url, "SELECT size FROM contents") == []


async def test_threads_that_write_and_drop_one_content_side_by_side(
    postgres_url: str, tmp_path: Path
):
    async def write(store: PostgresStore, thread: str) -> None:
        lease = await begun(store, thread)
        folder = await store.work_folder(thread)
        folder.mkdir(parents=True)
        for number in range(12):
            (folder / "a").write_text(f"the same in all {number % 2}")
            await store.record(lease, SAFE_POINT)
            (folder / "a").unlink()
            await store.record(lease, SAFE_POINT)

    store = PostgresStore(Database(url=postgres_url), tmp_path)
    async with store.own(), asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(write(store, f"t{number}"))
    assert rows(postgres_url, "SELECT * FROM contents") == []


@pytest.mark.parametrize("path", ["../outside", "/outside", "a/../../outside", "a//b", "."])
async def test_no_row_leads_out_of_the_folder(postgres_url: str, tmp_path: Path, path: str):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("a")
        await store.record(lease, SAFE_POINT)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE work_files SET path = %s", [path])
    with pytest.raises(StoreCorrupt):
        await elsewhere(postgres_url, tmp_path / "b")
    assert not list((tmp_path / "b" / "work").iterdir())
    assert not [path for path in tree(tmp_path) if path.endswith("outside")]


async def test_damaged_contents_are_found_and_not_loaded(postgres_url: str, tmp_path: Path):
    database = Database(url=postgres_url)
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("a")
        await store.record(lease, SAFE_POINT)
    assert check_rows(database) == []
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE content_parts SET data = 'b'")
        connection.execute("INSERT INTO contents (sha256, size) VALUES ('x', 0)")
    assert check_rows(database) == [
        StoreFault(thread="", text="a file's content belongs to no message"),
        StoreFault(thread="t", text="the file 'a' was changed"),
    ]
    with pytest.raises(StoreCorrupt):
        await elsewhere(postgres_url, tmp_path / "b")


async def test_files_become_folders_and_folders_links(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("a")
        (work / "b").mkdir()
        (work / "b" / "c").write_text("c")
        await store.record(lease, SAFE_POINT)
        await elsewhere(postgres_url, tmp_path / "b")
        (work / "a").unlink()
        (work / "a").mkdir()
        (work / "a" / "x").write_text("x")
        (work / "b" / "c").rename(work / "c")
        (work / "b").rmdir()
        (work / "b").symlink_to("a")
        await store.record(lease, SAFE_POINT)
        assert tree(await elsewhere(postgres_url, tmp_path / "b")) == tree(work)


@pytest.mark.parametrize("kind", ["link", "link to itself", "fifo", "folder", "second name"])
async def test_an_old_copy_may_have_anything_in_the_place_of_a_stored_file(
    postgres_url: str, tmp_path: Path, kind: str
):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("old")
        await store.record(lease, SAFE_POINT)
    await store_on(postgres_url, tmp_path / "b", "a", "new")
    (work / "a").unlink()
    match kind:
        case "link":
            (work / "a").symlink_to("/etc/hostname")
        case "link to itself":
            (work / "a").symlink_to("a")
        case "fifo":
            os.mkfifo(work / "a")
        case "folder":
            (work / "a").mkdir()
        case _:
            (tmp_path / "new").write_text("new")
            os.link(tmp_path / "new", work / "a")
    assert tree(await elsewhere(postgres_url, tmp_path / "a"))["a"][2] == b"new"


async def test_a_folder_that_is_gone_is_gone(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path) as (store, lease, work):
        (work / "a").write_text("a")
        await store.record(lease, SAFE_POINT)
        (work / "a").unlink()
        work.rmdir()
        await store.record(lease, SAFE_POINT)
    assert rows(postgres_url, "SELECT * FROM work_files") == []


async def test_loaded_files_count_as_made_if_nobody_was_told_of_them(
    postgres_url: str, tmp_path: Path
):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "told").write_text("a")
        told = (work / "told").stat().st_ctime_ns
        os.utime(work / "told", ns=(told, told))
        (work / "untold").write_text("b")
        os.utime(work / "untold", ns=(told + 1, told + 1))
        await store.record(lease, replace(SAFE_POINT, files_at=told))
        make_private(tmp_path / "b")
        other = PostgresStore(Database(url=postgres_url), tmp_path / "b")
        copy = await other.work_folder("t")
        loaded_at = other.loaded_at("t")
        assert (copy / "told").stat().st_ctime_ns <= loaded_at
        assert (copy / "untold").stat().st_ctime_ns > loaded_at
    again = PostgresStore(Database(url=postgres_url), tmp_path / "b")
    await again.work_folder("t")
    assert again.loaded_at("t") == loaded_at


async def test_a_commit_whose_outcome_was_not_known_is_taken_as_the_database_has_it(
    postgres_url: str, tmp_path: Path
):
    class ForgetfulStore(PostgresStore):
        forgets = False

        async def write(
            self,
            unit: Callable[[PostgresConnection], T],
            then: Callable[[T], None] | None = None,
            *,
            alone: bool = False,
        ) -> T:
            result = await super().write(unit, None if self.forgets else then, alone=alone)
            if self.forgets:
                raise StoreUnreachable
            return result

    store = ForgetfulStore(Database(url=postgres_url), tmp_path / "a")
    async with store.own():
        lease = await begun(store, "t")
        work = await store.work_folder("t")
        work.mkdir(parents=True)
        (work / "a").write_text("a")
        store.forgets = True
        with pytest.raises(StoreUnreachable):
            await store.record(lease, SAFE_POINT)
        store.forgets = False
        (work / "a").unlink()
        await store.record(lease, SAFE_POINT)
        assert tree(await elsewhere(postgres_url, tmp_path / "b")) == {}


async def test_a_link_in_the_place_of_the_folder_is_not_followed(postgres_url: str, tmp_path: Path):
    async with opened(postgres_url, tmp_path / "a") as (store, lease, work):
        (work / "a").write_text("a")
        await store.record(lease, SAFE_POINT)
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "theirs").touch()
        work.rename(tmp_path / "moved")
        work.symlink_to(tmp_path / "outside")
        await store.record(lease, SAFE_POINT)
        assert tree(await store.work_folder("t")) == tree(tmp_path / "moved")
        assert [*tree(tmp_path / "outside")] == ["theirs"]
