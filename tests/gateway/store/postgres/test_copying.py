"""Tables of a store in PostgreSQL, as a copy uses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from psycopg.errors import OperationalError

from gateway.errors import StoreError, StoreInUse
from gateway.store.postgres.copying import new_tables, tables_of
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.tables import StoredRow

COLUMNS = ("platform", "name", "value")
MARK: list[StoredRow] = [("x", "a", "1"), ("x", "b", "2")]


def failing() -> Iterator[StoredRow]:
    """A row, and then an error."""
    yield ("x", "c", "3")
    raise ZeroDivisionError


async def test_a_copy_is_begun_filled_and_completed(postgres_url: str, tmp_path: Path) -> None:
    database = Database(url=postgres_url)
    with new_tables(database) as tables:
        assert tables.name
        assert tables.name in postgres_url or "@" not in tables.name
        aside = tables.begin()
        assert any("CREATE" in each for each in aside)
        with tables.transaction("marks"):
            tables.add("marks", COLUMNS, MARK)
        with pytest.raises(ZeroDivisionError), tables.transaction("marks"):
            tables.add("marks", COLUMNS, failing())
        assert tables.is_begun()
        assert sorted(tables.read("marks", COLUMNS)) == MARK
        with pytest.raises(StoreError, match="marks"), tables.transaction("marks"):
            tables.add("marks", COLUMNS, [("x", "d", None)])
        tables.complete(aside, {"inbox": 7})
        assert not tables.is_begun()
        assert tables.last_numbers()["inbox"] == 7
        assert tables.run(lambda it: it.fetch("SELECT 5 AS n")[0]["n"]) == 5
        with pytest.raises(StoreInUse):
            async with PostgresStore(database, tmp_path).own():
                pass
    async with PostgresStore(database, tmp_path).own():
        pass
    with tables_of(database) as tables:
        assert sorted(tables.read("marks", COLUMNS)) == MARK
        Timer(0.02, tables.interrupt).start()
        with pytest.raises(OperationalError, match="canceling statement"):
            tables.run(lambda it: it.fetch("SELECT pg_sleep(20)"))
