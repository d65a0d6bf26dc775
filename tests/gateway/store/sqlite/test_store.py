import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from gateway.conversation import ConversationKey
from gateway.errors import (
    GatewayClosed,
    NotFound,
    StoreCorrupt,
    StoreInUse,
    StoreTooNew,
    StoreTooOld,
    StoreUnwritable,
)
from gateway.store.decisions import MemoReply, NewThread
from gateway.store.formats import LAST_UPGRADE, OLDEST, newest_format, upgrades
from gateway.store.records import MemoPlace
from gateway.store.sqlite.store import READERS, SqliteStore, temporary_store
from gateway.store.units import deletion, memos, rows, threads
from gateway.store.units import rows as row_units
from gateway.store.units import threads as thread_units
from gateway.store.units.copies import broken_promises
from tests.gateway.store.talk import ANN, begun, take

pytestmark = pytest.mark.sqlite

NEW = NewThread(id="t1", team="demo", definition="d")
KEY = ConversationKey.local("t1")


async def test_the_folder_and_its_files_are_the_owners_alone(tmp_path):
    store = SqliteStore(tmp_path / "deep" / "store")
    async with store.own():
        await store.run(rows.create_thread, NEW, key=KEY)
        modes = {path.name: path.stat().st_mode & 0o777 for path in store.folder.iterdir()}
        assert store.folder.stat().st_mode & 0o777 == 0o700
    assert {"parley.db", "parley.db-wal", "lock"} <= modes.keys()
    assert set(modes.values()) == {0o600}


async def test_a_second_owner_is_told_the_first_ones_pid(tmp_path):
    async with SqliteStore(tmp_path).own():
        with pytest.raises(StoreInUse, match=str(os.getpid())) as raised:
            async with SqliteStore(tmp_path).own():
                pass
        assert raised.value.pid == os.getpid()
    async with SqliteStore(tmp_path).own():
        pass


async def test_a_store_that_was_never_made_reads_as_empty(tmp_path):
    store = SqliteStore(tmp_path / "none")
    assert await store.run(threads.threads) == []
    with pytest.raises(NotFound):
        await store.run(threads.thread, "t1")
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_an_unwritable_folder_is_said(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreUnwritable, match=r"can't be written: Permission denied"):
        async with SqliteStore(tmp_path / "store").own():
            pass
    tmp_path.chmod(0o700)


async def test_a_file_where_the_folder_should_be_is_said(tmp_path):
    (tmp_path / "store").write_text("a file")
    with pytest.raises(StoreUnwritable, match="File exists"):
        async with SqliteStore(tmp_path / "store").own():
            pass


async def test_a_damaged_file_is_said_and_left_alone(tmp_path):
    (tmp_path / "parley.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreCorrupt, match="damaged"):
        async with SqliteStore(tmp_path).own():
            pass
    assert (tmp_path / "parley.db").read_bytes() == b"not a database" * 1000


async def test_a_store_that_was_damaged_after_it_was_closed_is_named(tmp_path):
    async with SqliteStore(tmp_path).own():
        pass
    data = (tmp_path / "parley.db").read_bytes()
    (tmp_path / "parley.db").write_bytes(data[:100] + b"x" * (len(data) - 100))
    with pytest.raises(StoreCorrupt, match=f"'{tmp_path}/parley.db' is damaged"):
        async with SqliteStore(tmp_path).own():
            pass


async def test_somebody_elses_database_is_left_alone(tmp_path):
    connection = sqlite3.connect(tmp_path / "parley.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreCorrupt, match="not one of Parley's"):
        async with SqliteStore(tmp_path).own():
            pass


NOW = {**upgrades()}
LAST = newest_format()
STEPS = {
    **NOW,
    LAST + 1: "ALTER TABLE threads ADD COLUMN color TEXT NOT NULL DEFAULT 'red'",
    LAST + 2: "UPDATE threads SET color = 'blue'",
}


def column(path: Path, query: str):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchone()[0]
    finally:
        connection.close()


async def test_an_older_store_is_brought_up_to_date_with_a_copy_before_each_step(tmp_path):
    old = SqliteStore(tmp_path, steps=NOW)
    async with old.own():
        await old.run(row_units.create_thread, NEW, key=KEY, title="Old")
    new = SqliteStore(tmp_path, steps=STEPS)
    async with new.own():
        assert (await new.run(thread_units.thread, "t1")).title == "Old"
    assert column(tmp_path / "parley.db", "SELECT color FROM threads") == "blue"
    assert column(tmp_path / f"parley.v{LAST}.db", "PRAGMA user_version") == LAST
    assert column(tmp_path / f"parley.v{LAST + 1}.db", "SELECT color FROM threads") == "red"
    assert (tmp_path / f"parley.v{LAST}.db").stat().st_mode & 0o777 == 0o600


async def test_the_copy_for_the_way_back_is_kept_without_what_was_deleted_since(tmp_path):
    old = SqliteStore(tmp_path, steps=NOW)
    async with old.own():
        for name in ("t1", "t2", "t3"):
            new = NewThread(id=name, team="demo", definition="d")
            await old.run(
                row_units.create_thread,
                new,
                key=ConversationKey.local(name),
                title=f"secret {name}",
            )
    copy = tmp_path / f"parley.v{LAST}.db"
    store = SqliteStore(tmp_path, steps={**NOW, LAST + 1: STEPS[LAST + 1]})
    async with store.own():
        await store.run(deletion.delete_thread, "t1")
        await store.run(deletion.delete_thread, "t2")
    assert column(copy, "SELECT GROUP_CONCAT(id) FROM threads") == "t3"
    assert b"secret t3" in copy.read_bytes()
    assert b"secret t1" not in copy.read_bytes()
    with pytest.raises(StoreTooNew, match=r"`parley store restore .*parley\.v\d+\.db`"):
        async with SqliteStore(tmp_path, steps=NOW).own():
            pass
    for name in ("parley.db", "commits"):
        (tmp_path / name).unlink()
    async with SqliteStore(tmp_path, steps=NOW).own():
        pass
    async with store.own():
        await store.run(rows.create_thread, NEW, key=KEY)
        copy.write_text("no database any more")
        await store.run(deletion.delete_thread, "t1")
    assert not copy.exists()


@pytest.mark.parametrize("person", [False, True])
async def test_what_a_kill_left_in_the_copy_goes_with_the_next_start(tmp_path, person):
    old = SqliteStore(tmp_path, steps=NOW)
    async with old.own():
        await begun(old, "secret of Ann")
        for name in ("t2", "t3"):
            new = NewThread(id=name, team="demo", definition="d")
            key = ConversationKey.local(name)
            await old.run(row_units.create_thread, new, key=key, title=f"secret {name}")
    copy = tmp_path / f"parley.v{LAST}.db"
    store = SqliteStore(tmp_path, steps={**NOW, LAST + 1: STEPS[LAST + 1]})

    def delete(connection):
        if person:
            return deletion.delete_person(connection, ANN.id)
        return deletion.delete_thread(connection, "t") + deletion.delete_thread(connection, "t2")

    async with store.own():
        await store.write(delete)  # and nothing is cleared, as after a kill
        assert column(copy, "SELECT COUNT(*) FROM threads") == 3
    async with store.own():
        if person:  # it may hold more of them
            assert not copy.exists()
            return
        assert column(copy, "SELECT GROUP_CONCAT(id) FROM threads") == "t3"
        assert b"secret of Ann" not in copy.read_bytes()
        assert b"secret t2" not in copy.read_bytes()
        changed = copy.stat().st_mtime_ns
    async with store.own():
        assert copy.stat().st_mtime_ns == changed


async def test_a_memo_that_is_deleted_is_in_no_copy_for_the_way_back(tmp_path):
    place = MemoPlace(team="demo", scope="team", key="")
    now = [100.0]
    old = SqliteStore(tmp_path, steps=NOW, clock=lambda: now[0])
    async with old.own():
        work, numbers = await begun(old), dict[str, int]()
        for text in ("by an agent", "by its person", "by its age", "kept"):
            now[0] += text == "kept"
            numbers[text] = await old.run(
                memos.add_memo, work.lease, place, ANN, text, call=text, most=9
            )
    copy = tmp_path / f"parley.v{LAST}.db"
    store = SqliteStore(tmp_path, steps={**NOW, LAST + 1: STEPS[LAST + 1]}, clock=lambda: now[0])
    async with store.own():
        texts = "SELECT GROUP_CONCAT(text, ', ') FROM memos"
        assert column(copy, texts) == "by an agent, by its person, by its age, kept"
        agent, person = numbers["by an agent"], numbers["by its person"]
        assert await store.run(memos.delete_memo, work.lease, place, ANN.id, agent)
        assert column(copy, texts) == "by its person, by its age, kept"
        await take(store, "/memory", MemoReply(delete=person), kind="command")
        assert column(copy, texts) == "by its age, kept"
        await store.run(deletion.expire, now[0])
        assert column(copy, texts) == "kept"
        assert b"by its age" not in copy.read_bytes()


async def test_a_new_store_takes_the_same_steps_without_copies(tmp_path):
    async with SqliteStore(tmp_path, steps=STEPS).own():
        pass
    assert column(tmp_path / "parley.db", "PRAGMA user_version") == LAST + 2
    assert not (tmp_path / f"parley.v{LAST}.db").exists()


async def test_a_step_that_fails_leaves_the_store_as_it_was(tmp_path):
    async with SqliteStore(tmp_path, steps=NOW).own():
        pass
    broken = SqliteStore(
        tmp_path, steps={**NOW, LAST + 1: f"{STEPS[LAST + 1]}; SELECT no_such_thing()"}
    )
    with pytest.raises(sqlite3.OperationalError):
        async with broken.own():
            pass
    async with SqliteStore(tmp_path, steps=STEPS).own():
        pass
    assert column(tmp_path / "parley.db", "PRAGMA user_version") == LAST + 2


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path):
    async with SqliteStore(tmp_path, steps=STEPS).own():
        pass
    with pytest.raises(StoreTooNew, match="Update Parley"):
        async with SqliteStore(tmp_path, steps=NOW).own():
            pass
    with pytest.raises(StoreTooNew, match="Update Parley"):
        await SqliteStore(tmp_path, steps=NOW).run(threads.threads)
    assert column(tmp_path / "parley.db", "PRAGMA user_version") == LAST + 2


async def test_a_step_leaves_nothing_in_the_store_of_what_it_removes(tmp_path):
    old = SqliteStore(tmp_path, steps=NOW)
    async with old.own():
        await old.run(row_units.create_thread, NEW, key=KEY, title="an old secret")
    assert b"an old secret" in (tmp_path / "parley.db").read_bytes()
    async with SqliteStore(
        tmp_path, steps={**NOW, LAST + 1: "UPDATE threads SET title = ''"}
    ).own():
        pass
    assert b"an old secret" not in (tmp_path / "parley.db").read_bytes()


async def test_a_store_that_is_too_old_is_refused_and_names_the_commit_that_upgrades_it(tmp_path):
    async with SqliteStore(tmp_path).own():
        pass
    with closing(sqlite3.connect(tmp_path / "parley.db")) as connection:
        connection.execute(f"PRAGMA user_version = {OLDEST - 1}")
    with pytest.raises(StoreTooOld, match=rf"format 20, .* at commit {LAST_UPGRADE}, which upgr"):
        async with SqliteStore(tmp_path).own():
            pass
    with pytest.raises(StoreTooOld, match=LAST_UPGRADE):
        await SqliteStore(tmp_path).run(threads.threads)
    assert column(tmp_path / "parley.db", "PRAGMA user_version") == OLDEST - 1


async def test_a_temporary_store_is_gone_at_the_end():
    async with temporary_store() as store, store.own():
        await store.run(rows.create_thread, NEW, key=KEY)
        folder = store.folder
        assert folder.exists()
    assert not folder.exists()


async def test_a_key_without_a_message_is_found(tmp_path):
    store = SqliteStore(tmp_path)
    async with store.own():
        await take(store, number="1")
    with closing(sqlite3.connect(tmp_path / "parley.db")) as damaged, damaged:
        damaged.execute("DELETE FROM inbox")  # SQLite does not look after references by itself
    (broken,) = await store.read(broken_promises)
    assert broken.fault == "it belongs to no message"


LEFT_OPEN = """
import asyncio, pathlib, sys
from gateway.store.formats import LAST_UPGRADE, OLDEST, upgrades, newest_format
from gateway.store.sqlite.store import SqliteStore

async def main():
    await SqliteStore(pathlib.Path(sys.argv[1])).own().__aenter__()
    raise SystemExit("crash in main")

asyncio.run(main())
"""


async def test_a_crash_in_main_leaves_no_thread_that_holds_the_process(tmp_path):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LEFT_OPEN, str(tmp_path), stderr=subprocess.DEVNULL
    )
    async with asyncio.timeout(8):
        assert await process.wait() == 1


async def test_reads_that_wait_while_the_store_is_closed_are_told_so(tmp_path):
    begun, go = threading.Semaphore(0), threading.Event()

    def slow(_) -> str:
        begun.release()
        go.wait(30)
        return "read"

    store = SqliteStore(tmp_path)
    async with store.own():
        reading = [asyncio.ensure_future(store.read(slow)) for _ in range(READERS + 2)]
        for _ in range(READERS):
            await asyncio.to_thread(begun.acquire)
    go.set()
    found = await asyncio.gather(*reading, return_exceptions=True)
    assert found[:READERS] == ["read"] * READERS
    assert [type(each) for each in found[READERS:]] == [GatewayClosed] * 2
