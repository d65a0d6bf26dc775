"""Readable rows of a damaged database, by their tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path

import pytest

from gateway.store.sqlite.pages import Pages, Stored
from gateway.store.sqlite.salvage import Salvage, Table
from gateway.store.sqlite.store import FILE
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import take

pytestmark = pytest.mark.sqlite

PAGE = 4096
TABLE = Table(
    name="notes",
    root=2,
    columns={"id": "INTEGER", "text": "TEXT"},
    defaults=(None, ""),
    number="id",
    known={"id", "text"},
)


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (Stored(3, [None, "a"]), [3, "a"]),
        (Stored(3, [None]), [3, ""]),
        (Stored(3, [None, 5]), None),
        (Stored(None, [3, "a"]), None),
        (None, None),
    ],
)
def test_a_row_fits_a_table_by_the_kinds_of_its_values(
    row: Stored | None, values: list[object] | None
) -> None:
    assert TABLE.fit(row) == values


def test_a_statement_adds_what_a_new_store_has_too() -> None:
    assert TABLE.insert == "INSERT OR IGNORE INTO notes (id, text) VALUES (?, ?)"
    younger = TABLE._replace(known={"text"})
    assert younger.insert == "INSERT OR IGNORE INTO notes (text) VALUES (?)"


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    """The database of a store with many messages."""
    store = new_store(tmp_path)
    async with store.own():
        for n in range(60):
            await take(store, f"{n} " + "word " * 40)
    return tmp_path / FILE


@contextmanager
def salvage(damaged: Path) -> Generator[Salvage]:
    made = new_store(damaged.parent / "made").folder / FILE
    with (
        damaged.open("rb") as file,
        mmap(file.fileno(), 0, access=ACCESS_READ) as content,
        closing(sqlite3.connect(made)) as raw,
    ):
        yield Salvage(Pages(content, PAGE), raw)


def test_rows_of_a_sound_store_are_all_read(store: Path) -> None:
    with salvage(store) as found:
        [inbox] = [each for each in found.tables if each.name == "inbox"]
        assert len([*found.rows(inbox)]) == 60
        assert found.unreadable == set()
        assert [*found.orphans()] == []
        assert dict(found.numbers())["inbox"] == 60


def test_rows_below_a_bad_page_are_orphans_of_their_table(store: Path) -> None:
    with closing(sqlite3.connect(store)) as raw:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'inbox'"
        [root] = raw.execute(query).fetchone()
    with store.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(bytes(PAGE))
    with salvage(store) as found:
        [inbox] = [each for each in found.tables if each.name == "inbox"]
        assert [*found.rows(inbox)] == []
        assert found.unreadable == {"inbox"}
        orphans = [values for table, values in found.orphans() if table.name == "inbox"]
        assert len(orphans) == 60
