"""Rows are read from pages as SQLite reads them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path

import pytest

from gateway.store.sqlite.pages import Pages

pytestmark = pytest.mark.sqlite

SIZES = (512, 4096, 32768)
NUMBERS = [sign * 2**power + off for power in range(63) for sign in (1, -1) for off in (-1, 0)]
EDGES = [None, 0, 1, -1, 2**63 - 1, -(2**63), 0.5, -1e300, "", "é\n\0x", b"", bytes(range(256))]


@contextmanager
def pages(path: Path, size: int) -> Generator[Pages]:
    with path.open("rb") as file, closing(mmap(file.fileno(), 0, access=ACCESS_READ)) as content:
        yield Pages(content, size)


def some_value(chance: random.Random) -> object:
    length = chance.choice([3, 60, 61, 62, 63, 100, 476, 477, 478, 500, 4061, 5000, 70_000])
    kinds = [*EDGES, chance.choice(NUMBERS), "x" * length, chance.randbytes(length)]
    return chance.choice(kinds)


def made(path: Path, size: int, seed: int) -> dict[str, int]:
    """A database of all kinds of values; first pages of its tables."""
    chance = random.Random(seed)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("CREATE TABLE plain (a, b, c)")
        connection.execute("CREATE TABLE keyed (key, b, c, PRIMARY KEY (key)) WITHOUT ROWID")
        for row in range(200):
            values = [some_value(chance) for _ in range(3)]
            number = chance.choice(NUMBERS)
            connection.execute(
                "INSERT OR REPLACE INTO plain (rowid, a, b, c) VALUES (?, ?, ?, ?)",
                (number, *values),
            )
            connection.execute(
                "INSERT INTO keyed VALUES (?, ?, ?)",
                (f"{row} {'k' * chance.choice([3, 50, 500])}", *values[1:]),
            )
        return dict(connection.execute("SELECT name, rootpage FROM sqlite_master").fetchall())


def read(found: Pages, root: int) -> list[tuple[object, ...]]:
    """All rows, with their numbers if they have some."""
    rows: list[tuple[object, ...]] = []
    for page, is_one in found.tree(root).items():
        assert is_one
        for row in found.rows(page):
            assert row is not None
            rows.append((row.number, *row.values) if row.number is not None else (*row.values,))
    return rows


@pytest.mark.parametrize("size", SIZES)
def test_rows_are_those_that_sqlite_reads(tmp_path, size):
    path = tmp_path / "a.db"
    roots = made(path, size, seed=size)
    with closing(sqlite3.connect(path)) as connection, pages(path, size) as found:
        for table, columns in (("plain", "rowid, *"), ("keyed", "*")):
            rows = connection.execute(f"SELECT {columns} FROM {table}").fetchall()
            assert sorted(map(repr, read(found, roots[table]))) == sorted(map(repr, rows))


@pytest.mark.parametrize("seed", range(5))
def test_bytes_by_chance_are_read_to_their_end_and_are_no_rows(tmp_path, seed):
    path = tmp_path / "a.db"
    chance = random.Random(seed)
    kinds = (0x0D, 0x0A, 0x02, 0x05, 0x00, 0xFF)
    path.write_bytes(
        b"".join(bytes([chance.choice(kinds)]) + chance.randbytes(511) for _ in range(100))
    )
    with pages(path, 512) as found:
        for page in found.numbers:
            assert all(row is None or not row.values for row in found.rows(page))
            found.tree(page)


def test_a_value_whose_pages_lead_in_a_circle_is_none(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute("CREATE TABLE plain (a)")
        connection.execute("INSERT INTO plain VALUES (?)", ("x" * 2000,))
    content = bytearray(path.read_bytes())
    content[512 * 2 : 512 * 2 + 4] = (3).to_bytes(4, "big")  # its first further page is the third
    path.write_bytes(content)
    with pages(path, 512) as found:
        (row,) = found.rows(2)
    assert row is None
