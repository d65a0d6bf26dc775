"""A damaged store becomes a new one with every readable row."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.access.authority import Access
from gateway.conversation import Attachment, Author, ConversationKey, InboundMessage
from gateway.errors import StoreCorrupt, StoreInUse
from gateway.gateway import Gateway
from gateway.store.records import StoreFault
from gateway.store.sqlite.mend import LOST
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import events as event_units
from tests.gateway.scripted import ScriptedTeams, ends, solo, until

pytestmark = pytest.mark.sqlite

PAGE = 4096
LATER = """
    SELECT sql FROM later.sqlite_master WHERE type IN ('table', 'index') AND sql <> ''
     AND tbl_name NOT IN (SELECT name FROM main.sqlite_master)
"""
OLDER = Path("tests/data/stores/format-10.sql").read_text()
THREADS, TURNS = 6, 4
ANN = Author(id="chat:ann", name="Ann")


def gateway_on(folder: Path, *answers: str) -> Gateway:
    teams = ScriptedTeams(lambda: solo(*answers))
    return Gateway(SqliteStore(folder), teams, access=Access(["chat:ann"]))


def message(root: int, n: int) -> InboundMessage:
    key = ConversationKey(platform="chat", channel="C", root=str(root))
    return InboundMessage(
        key=key,
        author=ANN,
        text=f"message {root}:{n} " + "word " * 100,
        dedupe=(key.dedupe("create", f"{root}.{n}"),),
        attachments=(Attachment(name="a.txt", media_type="text/plain", data=b"%d" % root * 500),)
        if n == 1
        else (),
    )


async def make(folder: Path) -> None:
    async with gateway_on(folder, *["an answer " * 50] * TURNS) as gateway:
        for n in range(TURNS):
            for root in range(THREADS):
                told = await gateway.conversations.thread_at(message(root, n).key)
                receipt = await gateway.accept(message(root, n))
                await until(gateway, receipt.thread, ends, told.last_seq if told else 0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "store"
    asyncio.run(make(folder))
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "store"))


def rows(path: Path, table: str) -> set[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return {*connection.execute(f"SELECT * FROM {table}")}


def root_of(path: Path, table: str) -> int:
    query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, (table,)).fetchone()[0]


def overwrite(path: Path, page: int, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[(page - 1) * PAGE : page * PAGE] = chance.choice(
        [bytes(PAGE), chance.randbytes(PAGE), b"\xff" * PAGE]
    )
    path.write_bytes(content)


def put(path: Path, folder: Path) -> None:
    folder.mkdir()
    shutil.copyfile(path, folder / "parley.db")


async def sound(path: Path, folder: Path) -> list[StoreFault]:
    """Faults of a store file, on its own."""
    put(path, folder)
    return await SqliteStore(folder).check(in_use=False)


TABLES = ("threads", "turns", "inbox", "dedupe", "events", "checkpoints", "blobs", "attachments")


async def test_a_sound_store_is_said_to_be_sound_and_is_repaired_to_the_same(folder, tmp_path):
    store = SqliteStore(folder)
    assert await store.check(in_use=False) == []
    before = (folder / "parley.db").read_bytes()
    done = await store.repair()
    assert (done.gaps, done.unreadable) == ((), ())
    assert {*folder.iterdir()} >= {folder / "parley.db", done.path}
    assert (folder / "parley.db").read_bytes() == before
    assert done.path.stat().st_mode & 0o777 == 0o600
    assert await sound(done.path, tmp_path / "new") == []
    for table in (*TABLES, "usage", "commits"):
        assert rows(done.path, table) == rows(folder / "parley.db", table), table


async def test_the_newest_commits_in_an_undamaged_log_are_saved_too(whole, tmp_path):
    live, folder = tmp_path / "live", tmp_path / "store"
    shutil.copytree(whole, live)
    async with gateway_on(live, "new") as gateway:
        receipt = await gateway.accept(message(99, 0))
        await until(gateway, receipt.thread, ends)
        shutil.copytree(live, folder)
        with pytest.raises(StoreInUse):
            await SqliteStore(live).repair()
    done = await SqliteStore(folder).repair()
    assert done.gaps == ()
    assert receipt.thread in {row[0] for row in rows(done.path, "threads")}
    assert (folder / "parley.db-wal").exists()


@pytest.mark.parametrize("table", ["events", "inbox", "dedupe", "turns", "threads"])
async def test_what_surrounds_a_bad_page_is_saved_and_gaps_are_listed(folder, tmp_path, table):
    path = folder / "parley.db"
    original = {name: rows(path, name) for name in TABLES}
    with closing(sqlite3.connect(path)) as connection:
        pages = (
            [
                row[0]
                for row in connection.execute(
                    "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)
                )
            ]
            if has_dbstat(connection)
            else [root_of(path, table)]
        )
    overwrite(path, pages[len(pages) // 2], random.Random(1))
    faults = await SqliteStore(folder).check(in_use=False)
    assert faults
    done = await SqliteStore(folder).repair()
    assert table in done.unreadable
    assert await sound(done.path, tmp_path / "new") == []
    kept = {name: rows(done.path, name) & original[name] for name in TABLES}
    if len(pages) > 2:
        assert len(kept[table]) > len(original[table]) // 3
    for name in ("blobs", "checkpoints"):
        assert kept[name] == original[name]
    assert done.gaps or table == "dedupe"
    async with gateway_on(tmp_path / "new", "yes") as gateway:
        for thread in await gateway.client.threads():
            events = await gateway.store.run(event_units.events, thread.id)
            assert [event.seq for event in events] == [*range(1, thread.last_seq + 1)]


def has_dbstat(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1 FROM dbstat LIMIT 1")
    except sqlite3.OperationalError:
        return False
    return True


@pytest.mark.parametrize("table", ["events", "inbox"])
async def test_pages_below_a_bad_page_are_found_without_it(folder, tmp_path, table):
    path = folder / "parley.db"
    original = {name: rows(path, name) for name in TABLES}
    root = root_of(path, table)
    assert path.read_bytes()[(root - 1) * PAGE] == 5  # an inner page: it leads to all others
    overwrite(path, root, random.Random(3))
    done = await SqliteStore(folder).repair()
    assert await sound(done.path, tmp_path / "new") == []
    for name in TABLES:
        assert rows(done.path, name) == original[name], name


async def test_a_store_whose_schema_is_lost_is_read_with_that_of_a_new_one(folder, tmp_path):
    path = folder / "parley.db"
    original = {name: rows(path, name) for name in TABLES}
    overwrite(path, 1, random.Random(2))
    with pytest.raises(StoreCorrupt):
        await SqliteStore(folder).check(in_use=False)
    done = await SqliteStore(folder).repair()
    assert await sound(done.path, tmp_path / "new") == []
    assert rows(done.path, "events") == original["events"]
    # The number in the index of words is made anew.
    with closing(sqlite3.connect(done.path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(threads)")]
    number = columns.index("number")
    kept = [
        {row[:number] + row[number + 1 :] for row in found}
        for found in (rows(done.path, "threads"), original["threads"])
    ]
    assert kept[0] == kept[1]


async def test_a_lost_schema_of_a_store_that_began_with_another_one_is_told_by_its_pages(
    folder, tmp_path
):
    """Stores made before format 26 have their tables at other places."""
    older = tmp_path / "older" / "parley.db"
    older.parent.mkdir()
    with closing(sqlite3.connect(older)) as raw, raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.executescript(OLDER)
        raw.execute("ATTACH ? AS later", (str(folder / "parley.db"),))
        for (later,) in raw.execute(LATER).fetchall():  # as upgrades have made them
            raw.execute(later)
        raw.execute("ALTER TABLE turns ADD COLUMN model TEXT NOT NULL DEFAULT ''")
        raw.execute("ALTER TABLE turns ADD COLUMN state INTEGER")
        raw.execute("ALTER TABLE turns ADD COLUMN handoff_from TEXT NOT NULL DEFAULT ''")
        for table in TABLES:
            info = raw.execute(f"SELECT name FROM pragma_table_info('{table}', 'main')")
            names = ", ".join(name for (name,) in info)
            raw.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM later.{table}")
    with closing(sqlite3.connect(older)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    overwrite(older, 1, random.Random(2))
    done = await SqliteStore(older.parent).repair()
    assert await sound(done.path, tmp_path / "new") == []
    for table in ("events", "turns", "checkpoints", "blobs"):
        assert rows(done.path, table) == rows(folder / "parley.db", table), table


async def test_keys_below_a_bad_page_are_read_from_their_index(folder, tmp_path):
    path = folder / "parley.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        keys = [(f"chat:{'k' * 100}:{number}",) for number in range(500)]
        connection.executemany("INSERT INTO dedupe SELECT ?, MIN(id) FROM inbox", keys)
    original = rows(path, "dedupe")
    root = root_of(path, "dedupe")
    assert path.read_bytes()[(root - 1) * PAGE] == 2  # it leads to all others
    overwrite(path, root, random.Random(4))
    done = await SqliteStore(folder).repair()
    assert "dedupe" in done.unreadable
    assert rows(done.path, "dedupe") == original
    assert await sound(done.path, tmp_path / "new") == []


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 90]
)
async def test_a_header_alone_is_no_store_to_repair(tmp_path, content):
    (tmp_path / "parley.db").write_bytes(content or bytes(1))
    with pytest.raises(StoreCorrupt):
        await SqliteStore(tmp_path).repair()


async def test_a_retry_does_not_hide_that_the_message_of_its_turn_is_lost(folder):
    with closing(sqlite3.connect(folder / "parley.db")) as connection, connection:
        ((inbox, thread),) = connection.execute("SELECT MIN(id), thread FROM inbox").fetchall()
        connection.execute(
            "INSERT INTO inbox (conversation, thread, turn, kind, outcome, author, author_name,"
            " text, received_at) SELECT conversation, thread, turn, 'command', 'command', author,"
            " author_name, '/retry', received_at FROM inbox WHERE id = ?",
            (inbox,),
        )
        connection.execute("DELETE FROM dedupe WHERE inbox = ?", (inbox,))
        connection.execute("DELETE FROM inbox WHERE id = ?", (inbox,))
    done = await SqliteStore(folder).repair()
    assert [fault.thread for fault in done.gaps] == [thread]


@pytest.mark.parametrize("table", ["audit", "inbox", "gaps", "memos"])
async def test_numbers_of_a_table_of_which_all_rows_are_gone_are_not_given_again(folder, table):
    with closing(sqlite3.connect(folder / "parley.db")) as connection, connection:
        connection.execute(f"DELETE FROM {table}")
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.execute("INSERT INTO sqlite_sequence VALUES (?, 77)", (table,))
    done = await SqliteStore(folder).repair()
    assert (table, 77) in rows(done.path, "sqlite_sequence")


async def test_a_file_that_is_no_database_is_no_store_to_repair(tmp_path):
    (tmp_path / "parley.db").write_bytes(b"nothing" * 1000)
    with pytest.raises(StoreCorrupt):
        await SqliteStore(tmp_path).repair()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".repair")] == []


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(20))
async def test_random_damage_leaves_a_sound_store_without_anything_that_was_not_there(
    folder, tmp_path, seed
):
    chance = random.Random(seed)
    path = folder / "parley.db"
    original = {name: rows(path, name) for name in TABLES}
    pages = path.stat().st_size // PAGE
    hit: set[int] = set()
    if seed % 5 == 4:
        path.write_bytes(path.read_bytes()[: chance.randrange(PAGE * pages // 2, PAGE * pages)])
    else:
        for _ in range(chance.randrange(1, 4)):
            hit.add(page := chance.randrange(1, pages + 1))
            overwrite(path, page, chance)
    done = await SqliteStore(folder).repair()
    assert await sound(done.path, tmp_path / "new") == []
    saved = {name: rows(done.path, name) for name in TABLES}
    invented = [row for row in saved["events"] - original["events"] if LOST not in str(row)]
    assert invented == []
    assert saved["dedupe"] <= original["dedupe"]
    assert saved["blobs"] <= original["blobs"]
    if hit:  # each page has few of them
        assert len(saved["events"] & original["events"]) > len(original["events"]) // 2
    gaps = {fault.thread for fault in done.gaps}
    column = {row[0] for row in original["events"] - saved["events"]}
    assert column & {row[0] for row in saved["threads"]} <= gaps
    async with gateway_on(tmp_path / "new", "yes"):
        pass
    shutil.rmtree(folder)  # every chaos test ends with a look at its stores
