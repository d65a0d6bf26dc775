"""A copy of a store is whole, or its fault is named."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import connect

from gateway.errors import StoreError, StoreInUse
from gateway.store import copying
from gateway.store.copying import Copy, CopyEnded, CopyReport, Step
from gateway.store.postgres.database import Database, Patience
from gateway.store.sqlite import copying as files
from gateway.store.sqlite.store import FILE, SqliteStore
from gateway.store.units import audit as audit_units
from gateway.store.units import threads
from gateway.store.units import threads as thread_units
from tests.databases import make_database
from tests.fakes.full_store import all_rows, fill_store
from tests.fakes.new_store import new_store

Place = Path | Database
CHANGE = "UPDATE attachments SET name = 'b.txt'"
END_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
NUMBERS = itertools.count()
DERIVED = (
    *("word_threads", "searched", "unsearched", "tallies", "used_days"),
    *("nodes", "leases", "rates", "budget_shares", "reloads", "reload_votes"),
    *("work_folders", "work_files", "work_versions"),
)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full") / "store"
    asyncio.run(fill_store(folder))
    return folder


@pytest.fixture
def source(full: Path, tmp_path: Path) -> SqliteStore:
    return SqliteStore(Path(shutil.copytree(full, tmp_path / "source")))


@pytest.fixture(params=["files", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where a copy is made."""
    if request.param == "files":
        return tmp_path / "copy"
    return Database(url=request.getfixturevalue("postgres_url"))


@pytest.fixture
def database(postgres_url: str) -> Database:
    return Database(url=postgres_url)


@asynccontextmanager
async def tables_at(place: Place, *, new: bool = False) -> AsyncGenerator[Any]:
    async with AsyncExitStack() as stack:
        if isinstance(place, Path):
            if new:
                yield await stack.enter_async_context(files.new_tables(place))
            else:
                yield stack.enter_context(files.tables_of(place / FILE))
            return
        from gateway.store.postgres import copying as postgres

        open_tables = postgres.new_tables if new else postgres.tables_of
        yield stack.enter_context(open_tables(place))


def nothing(step: Step) -> None:
    """Tell nobody."""


async def copy(
    source: Place, target: Place, told: Callable[[Copy, Step], None] = lambda copy, step: None
) -> CopyReport:
    async with tables_at(source) as old, tables_at(target, new=True) as new:
        made = Copy(old, new, tell=lambda step: told(made, step), clock=lambda: 5.0)
        return made.run()


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / FILE)) as raw, raw:
        for statement in statements:
            raw.execute(statement)


def copied_rows(folder: Path) -> list[int]:
    """Positions of the audit's rows about copies."""
    with closing(sqlite3.connect(folder / FILE)) as raw:
        query = "SELECT id FROM audit WHERE what = 'store.copied' ORDER BY id"
        return [row[0] for row in raw.execute(query)]


def without_derived(folder: Path) -> dict[str, Any]:
    """All rows but those that a copy makes itself."""
    rows = all_rows(folder)
    rows = {table: rows[table] for table in rows if table not in (*DERIVED, "commits")}
    rows["audit"] = [row for row in rows["audit"] if "store.copied" not in row]
    rows["sqlite_sequence"] = sorted(
        row[1:] for row in rows["sqlite_sequence"] if "audit" not in row
    )
    with closing(sqlite3.connect(folder / FILE)) as raw:
        columns = [each[0] for each in raw.execute("SELECT rowid, * FROM threads").description]
    searched = columns.index("number")  # among those that were searched once
    rows["threads"] = [(*row[:searched], *row[searched + 1 :]) for row in rows["threads"]]
    return rows


async def test_a_store_with_rows_in_each_table_is_the_same_after_the_way_there_and_back(
    source, place, tmp_path
):
    before = all_rows(source.folder)
    assert all(before.values())
    report = await copy(source.folder, place)
    assert (report.replaced, report.rows["events"]) == (0, len(before["events"]))
    await copy(place, tmp_path / "back")
    assert all_rows(source.folder) == before
    assert without_derived(tmp_path / "back") == without_derived(source.folder)
    last = max(row[0] for row in before["audit"]) + 10
    first, second = copied_rows(tmp_path / "back")
    assert last < first < second


async def test_a_copy_that_is_ended_goes_on_behind_its_last_batch(
    source, place, tmp_path, monkeypatch
):
    monkeypatch.setattr(copying, "MOST_ROWS", 3)
    assert await copy_in_parts(source.folder, place) > 2
    assert await copy_in_parts(place, tmp_path / "back") > 2
    assert without_derived(tmp_path / "back") == without_derived(source.folder)


async def copy_in_parts(source: Place, place: Place) -> int:
    """End a copy now and then until it is complete; how often."""
    done: dict[str, int] = {}
    batches = ended = 0

    def end_at_times(copy: Copy, step: Step) -> None:
        nonlocal batches
        if step.done > done.get(step.table, 0):
            done[step.table] = step.done
            batches += 1
            if batches % 7 == 0:
                copy.end()

    while True:
        try:
            await copy(source, place, end_at_times)
        except CopyEnded:
            ended += 1
        else:
            return ended


async def begin(source: Place, place: Place) -> None:
    """Begin a copy, and end it."""
    with pytest.raises(CopyEnded):
        await copy(source, place, lambda copy, step: copy.end() if step.done else None)


async def test_a_copy_goes_on_after_its_connection_was_lost(source, database):
    cut: list[str] = []

    def cut_once(copy: Copy, step: Step) -> None:
        if step.done and not cut:
            cut.append(step.table)
            with connect(database.url) as raw:
                raw.execute(END_OTHERS)

    with pytest.raises(StoreError, match="can't be reached"):
        await copy(source.folder, database, cut_once)
    report = await copy(source.folder, database)
    assert report.rows[cut[0]] == len(all_rows(source.folder)[cut[0]])


async def test_a_copy_that_is_not_complete_is_no_store(source, place, tmp_path):
    await begin(source.folder, place)
    store = store_at(place, tmp_path)
    for use in (lambda: store.run(thread_units.threads), lambda: own(store)):
        with pytest.raises(StoreError, match="copy that is not complete"):
            await use()
    await copy(source.folder, place)
    assert await store.run(threads.threads)
    await own(store)


def store_at(place: Place, folder: Path) -> Any:
    if isinstance(place, Path):
        return SqliteStore(place)
    from gateway.store.postgres.store import PostgresStore

    return PostgresStore(place, folder / "node")


async def own(store: Any) -> None:
    async with store.own():
        pass


async def test_a_store_that_was_used_is_copied_anew_alone(source, tmp_path):
    await begin(source.folder, tmp_path / "copy")
    async with source.own():
        await source.run(audit_units.note, "thread.renamed")
    with pytest.raises(StoreError, match=r"was used since its copy .* Remove that copy"):
        await copy(source.folder, tmp_path / "copy")


async def test_a_copy_of_another_store_is_left_alone(source, tmp_path):
    await begin(source.folder, tmp_path / "copy")
    other = shutil.copytree(source.folder, tmp_path / "other")
    with pytest.raises(StoreError, match=f"A copy of {source.folder} was begun"):
        await copy(other, tmp_path / "copy")
    await copy(source.folder, tmp_path / "copy")


async def test_a_store_that_is_there_is_not_copied_over(source, tmp_path):
    await copy(source.folder, tmp_path / "copy")
    with pytest.raises(StoreError, match=r"There is a store in .* already"):
        await copy(source.folder, tmp_path / "copy")


async def test_a_copy_needs_its_place_alone(source, place):
    if isinstance(place, Database):
        place = replace(place, patience=Patience(owner=0.1))
    async with tables_at(place, new=True):
        with pytest.raises(StoreInUse):
            await copy(source.folder, place)


async def test_tables_of_a_store_in_use_are_not_changed(source, database):
    """An older version of Parley may use them."""
    hasty = replace(database, patience=Patience(owner=0.1))
    with connect(database.url, autocommit=True) as admin:
        admin.execute("UPDATE store SET version = version - 1")
        admin.execute("SELECT pg_advisory_lock(hashtextextended('parley owner', 0))")
        with pytest.raises(StoreInUse):
            await copy(source.folder, hasty)


async def test_a_copy_gives_signs_of_life_also_while_a_table_takes_long(database):
    hasty = replace(database, failover=0.2)
    async with tables_at(hasty, new=True) as tables, asyncio.timeout(10):
        with tables.transaction(), connect(database.url, autocommit=True) as other:
            began = other.execute("SELECT beat FROM nodes").fetchall()
            while other.execute("SELECT beat FROM nodes").fetchall() == began:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_a_row_of_the_copy_that_was_changed_is_noticed(source, place):
    await begin(source.folder, place)
    async with tables_at(place, new=True) as tables:
        tables.run(lambda connection: connection.execute(CHANGE))
    with pytest.raises(StoreError, match=r"the table 'attachments' in .* it has other values"):
        await copy(source.folder, place)
    assert await is_begun(place)


async def is_begun(place: Place) -> bool:
    async with tables_at(place, new=True) as tables:
        return tables.is_begun()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE turns SET author = x'6869'", "other values|can't be stored"),
        ("UPDATE turns SET author = CAST(x'ff' AS TEXT)", "A row of 'turns' in .* can't be read"),
        ("UPDATE turns SET n = 'one'", "other values|A row of 'turns' can't be stored"),
        ("UPDATE checkpoints SET thread = 'gone'", "'checkpoints' can't be stored .* not there"),
    ],
    ids=["bytes as text", "broken text", "text as number", "no parent"],
)
async def test_a_damaged_row_is_named_by_its_table(source, database, statement, said):
    change(source.folder, statement)
    with pytest.raises(StoreError, match=said):
        await copy(source.folder, database)
    assert await is_begun(database)


ODD_ROWS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.binary(),
    ),
    min_size=20,
    max_size=50,
)


@given(rows=ODD_ROWS)
@settings(
    max_examples=3,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@pytest.mark.chaos
def test_odd_values_are_the_same_there_and_back(rows, new_database):
    """A NUL character is the exception: PostgreSQL stores none."""
    with TemporaryDirectory() as name:
        source, back = Path(name, "source"), Path(name, "back")
        new_store(source)
        with closing(sqlite3.connect(source / FILE)) as raw, raw:
            raw.executemany(
                "INSERT INTO losses (cause, commits, since, until) VALUES (?, ?, ?, 0)",
                [row[:3] for row in rows],
            )
            raw.executemany(
                "INSERT INTO tokens VALUES (?, '', ?, 0)",
                [(str(n), row[3]) for n, row in enumerate(rows)],
            )
        database = Database(url=make_database(f"odd{next(NUMBERS)}"))
        report = asyncio.run(copy(source, database))
        asyncio.run(copy(database, back))
        before, after = all_rows(source), all_rows(back)
    assert report.replaced == sum("\0" in text for text, *_ in rows)
    assert after["tokens"] == before["tokens"]
    shown = [tuple(shown_nul(each) for each in row) for row in before["losses"]]
    assert after["losses"] == shown


def shown_nul(each: Any) -> Any:
    return each.replace("\0", "\u2400") if isinstance(each, str) else each
