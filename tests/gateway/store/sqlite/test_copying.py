"""Tables of an SQLite store, as a copy uses them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gateway.errors import StoreInUse, Unstorable
from gateway.store.sqlite.copying import SqliteTables, new_tables, tables_of
from gateway.store.sqlite.store import FILE, SqliteStore
from gateway.store.tables import StoredRow
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import take

pytestmark = pytest.mark.sqlite

MARK: list[StoredRow] = [("x", "a", "1"), ("x", "b", "2")]
COLUMNS = ("platform", "name", "value")


def failing() -> Iterator[StoredRow]:
    """A row, and then an error."""
    yield ("x", "c", "3")
    raise ZeroDivisionError


async def filled(folder: Path) -> None:
    store = new_store(folder)
    async with store.own():
        await take(store)


async def test_tables_of_a_store_are_read_in_parts(tmp_path: Path) -> None:
    await filled(tmp_path)
    with tables_of(tmp_path / FILE) as tables:
        assert tables.name == str(tmp_path)
        assert not tables.is_begun()
        assert tables.run(lambda it: it.fetch("SELECT id FROM threads")[0]["id"]) == "t"
        assert [*tables.read("inbox", ["text"])] == [("hi",)]
        [(number, text)] = tables.read("inbox", ["text"], ())
        assert text == "hi"
        assert [*tables.read("inbox", ["text"], (number,))] == []
        assert tables.last_numbers()["inbox"] == number


async def test_a_copy_is_begun_filled_and_completed(tmp_path: Path) -> None:
    async with new_tables(tmp_path) as tables:
        aside = tables.begin()
        assert any("CREATE TRIGGER" in each for each in aside)
        with tables.transaction("marks"):
            tables.add("marks", COLUMNS, MARK)
        with pytest.raises(ZeroDivisionError), tables.transaction("marks"):
            tables.add("marks", COLUMNS, failing())
        assert tables.is_begun()
        assert [*tables.read("marks", COLUMNS)] == MARK
        with pytest.raises(Unstorable), tables.transaction("marks"):
            tables.add("marks", COLUMNS, MARK)
        tables.complete(aside, {"inbox": 7})
        assert not tables.is_begun()
        assert tables.last_numbers()["inbox"] == 7
        with pytest.raises(StoreInUse):
            async with SqliteStore(tmp_path).own():
                pass
    async with SqliteStore(tmp_path).own():
        pass


def test_a_statement_that_a_worker_waits_for_is_interrupted(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        tables = SqliteTables(tmp_path / FILE, raw)

        def look(number: int) -> int:
            if number == 10:
                tables.interrupt()
            return number

        raw.create_function("look", 1, look)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            raw.execute(
                "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000)"
                " SELECT SUM(look(x)) FROM n"
            ).fetchall()
