import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from gateway.errors import GatewayClosed, StoreFull, StoreUnwritable, Unstorable
from gateway.store.sqlite import writer as writer_module
from gateway.store.sqlite.writer import GROUP, SqliteConnection, Writer

pytestmark = pytest.mark.sqlite


@pytest.fixture
async def writer(tmp_path: Path):
    def connect():
        connection = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x UNIQUE)")
        return connection

    writer = Writer(connect)
    await writer.start()
    yield writer
    await writer.close()


def insert(value):
    return lambda connection: connection.fetch(
        "INSERT INTO t VALUES (:value) RETURNING rowid", {"value": value}
    )[0][0]


def values(connection):
    return [row[0] for row in connection.fetch("SELECT x FROM t ORDER BY rowid")]


def held(entered: threading.Event, go: threading.Event):
    """A unit that keeps the writer busy until `go` is set."""

    def unit(_):
        entered.set()
        assert go.wait(5)

    return unit


async def busy(writer: Writer):
    """Keep the writer busy; units queued meanwhile form one group after `go`."""
    entered, go = threading.Event(), threading.Event()
    waiting = asyncio.ensure_future(writer.write(held(entered, go)))
    while not entered.is_set():  # noqa: ASYNC110 (a thread sets it)
        await asyncio.sleep(0)
    return go, waiting


async def test_units_that_wait_share_one_commit(writer):
    go, first = await busy(writer)
    rest = [asyncio.ensure_future(writer.write(insert(n))) for n in range(64)]
    await asyncio.sleep(0)
    before = writer.commits
    go.set()
    await asyncio.gather(first, *rest)
    assert await writer.write(values) == list(range(64))
    assert writer.commits - before == 3  # the first alone, the 64 together, the reading one


async def test_a_group_has_an_upper_bound(writer):
    go, first = await busy(writer)
    rest = [asyncio.ensure_future(writer.write(insert(n))) for n in range(GROUP + 1)]
    await asyncio.sleep(0)
    before = writer.commits
    go.set()
    await asyncio.gather(first, *rest)
    assert writer.commits - before == 3


async def test_several_units_wait_for_one_more_and_a_single_one_for_nobody(writer, monkeypatch):
    monkeypatch.setattr(writer_module, "GATHER", 2.0)
    go, first = await busy(writer)
    rest = [asyncio.ensure_future(writer.write(insert(n))) for n in range(2)]
    await asyncio.sleep(0)
    before = writer.commits
    go.set()
    await first
    assert await writer.write(insert(2)) == 3  # it came while the two were waiting
    await asyncio.gather(*rest)
    assert writer.commits - before == 2  # the first alone, and the three
    monkeypatch.setattr(writer_module, "GATHER", 60.0)
    async with asyncio.timeout(30):
        assert await writer.write(values) == [0, 1, 2]
        go, first = await busy(writer)
        last = asyncio.ensure_future(writer.write(values))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(writer.close(timeout=20))
        await asyncio.sleep(0)
        go.set()
        await closing  # nobody follows the end
        assert await last == [0, 1, 2]


async def test_a_failing_unit_undoes_itself_but_not_its_neighbours(writer):
    def half(connection):
        insert("half")(connection)
        raise LookupError("no")

    go, first = await busy(writer)
    units = [writer.write(unit) for unit in (insert(1), half, insert(1), insert(2))]
    rest = asyncio.gather(*units, return_exceptions=True)
    await asyncio.sleep(0)
    go.set()
    await first
    one, failed, duplicate, two = await rest
    assert isinstance(failed, LookupError)
    assert isinstance(duplicate, Unstorable)
    assert isinstance(duplicate.__cause__, sqlite3.IntegrityError)
    assert (one, two) == (1, 2)
    assert await writer.write(values) == [1, 2]


async def test_a_cancelled_caller_leaves_alone_and_its_unit_is_kept_and_told(writer):
    told = []
    go, first = await busy(writer)
    leaving = asyncio.ensure_future(writer.write(insert("kept"), told.append))
    await asyncio.sleep(0)
    leaving.cancel()
    go.set()
    await first
    assert leaving.cancelled()
    assert await writer.write(values) == ["kept"]
    assert told == [1]


async def test_closing_commits_what_waits(tmp_path, writer):
    go, first = await busy(writer)
    last = asyncio.ensure_future(writer.write(insert("last")))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(writer.close())
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(first, last, closing)
    connection = sqlite3.connect(tmp_path / "w.db")
    assert values(SqliteConnection(connection)) == ["last"]
    connection.close()
    with pytest.raises(GatewayClosed):
        await writer.write(values)


async def test_a_full_disk_refuses_the_unit_and_takes_it_once_there_is_space(writer):
    pages = await writer.write(lambda c: c.fetch("PRAGMA page_count")[0][0])
    await writer.write(lambda c: c.fetch(f"PRAGMA max_page_count = {pages + 3}")[0])
    big = "x" * 100_000
    with pytest.raises(StoreFull):
        await writer.write(insert(big))
    assert await writer.write(values) == []
    await writer.write(insert("small"))
    await writer.write(lambda c: c.fetch("PRAGMA max_page_count = 1000000")[0])
    await writer.write(insert(big))
    assert await writer.write(values) == ["small", big]


async def test_of_a_group_that_hits_the_full_disk_no_unit_is_told_it_is_stored_unless_it_is(writer):
    pages = await writer.write(lambda c: c.fetch("PRAGMA page_count")[0][0])
    await writer.write(lambda c: c.fetch(f"PRAGMA max_page_count = {pages + 2}")[0])
    go, first = await busy(writer)
    units = [writer.write(insert(value)) for value in ("a", "b" * 100_000, "c")]
    rest = asyncio.gather(*units, return_exceptions=True)
    await asyncio.sleep(0)
    go.set()
    await first
    results = await rest
    stored = await writer.write(values)
    for value, result in zip(("a", "b", "c"), results, strict=True):
        assert (value in stored) == (not isinstance(result, BaseException))
    assert isinstance(results[1], StoreFull)


@pytest.mark.parametrize("step", ["BEGIN", "ROLLBACK", "RELEASE"])
async def test_a_unit_that_can_not_even_be_undone_is_answered(tmp_path, step):
    def connect():
        connection = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
        connection.execute("CREATE TABLE t (x UNIQUE)")
        connection.set_authorizer(
            lambda action, asked, *_: action == sqlite3.SQLITE_SAVEPOINT and asked == step
        )
        return connection

    writer = Writer(connect)
    await writer.start()
    async with asyncio.timeout(5):
        go, first = await busy(writer)
        units = [asyncio.ensure_future(writer.write(insert(value))) for value in (1, 1, 2)]
        await asyncio.sleep(0)
        go.set()
        results = await asyncio.gather(first, *units, return_exceptions=True)
        stored = await writer.write(values)
    await writer.close()
    told = zip((1, 1, 2), results[1:], strict=True)
    assert stored == [value for value, result in told if not isinstance(result, Exception)]


@pytest.mark.parametrize("given", [(1, 1, 2), (1, 2), (1, 1), (1,)])
@pytest.mark.parametrize("steps", ["ROLLBACK", "COMMIT ROLLBACK", "COMMIT", "BEGIN"])
async def test_a_transaction_that_can_not_even_be_undone_ends_no_writer(tmp_path, steps, given):
    refused = set()

    def connect():
        connection = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
        connection.execute("CREATE TABLE t (x UNIQUE)")
        connection.set_authorizer(
            lambda action, asked, *_: action == sqlite3.SQLITE_TRANSACTION and asked in refused
        )
        return connection

    writer = Writer(connect)
    await writer.start()
    async with asyncio.timeout(5):
        go, first = await busy(writer)
        units = [asyncio.ensure_future(writer.write(insert(value))) for value in given]
        await asyncio.sleep(0)
        refused.update(steps.split())
        go.set()
        results = await asyncio.gather(first, *units, return_exceptions=True)
        refused.clear()
        stored = await writer.write(values)
    await writer.close()
    told = zip(given, results[1:], strict=True)
    assert stored == [value for value, result in told if not isinstance(result, Exception)]


async def test_a_connection_that_cannot_be_opened_is_said_at_the_start(tmp_path):
    writer = Writer(lambda: sqlite3.connect(tmp_path / "no" / "where.db"))
    with pytest.raises(StoreUnwritable):
        await writer.start()
    with pytest.raises(GatewayClosed):
        await writer.write(values)
