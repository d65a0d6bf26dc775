"""Leaf pages that no table leads to, below a damaged page.

The layout of pages is that of sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path

from gateway.store.sqlite.salvage import Salvage, SavedRow, Table

TABLE_LEAF, TABLE_INNER, INDEX_INNER = 0x0D, 0x05, 0x02
FIRST = 100
"""Bytes before the first page's own header."""


def rows_of_orphans(damaged: Path, tables: Sequence[Table]) -> Iterator[tuple[Table, SavedRow]]:
    """Rows of orphaned pages, for each table to which they may belong.

    SQLite itself reads a page: it is made the only one of the table in the working copy.
    """
    if not tables or not damaged.stat().st_size:
        return
    for page in _orphans(damaged):
        for table in tables:
            with suppress(sqlite3.Error), closing(_with_root(damaged, table, page)) as raw:
                for row in Salvage(raw, table).page():
                    yield table, row


def _with_root(damaged: Path, table: Table, page: int) -> sqlite3.Connection:
    with closing(sqlite3.connect(damaged, isolation_level=None)) as raw:
        for pragma in ("writable_schema = ON", "synchronous = OFF", "journal_mode = OFF"):
            raw.execute(f"PRAGMA {pragma}")
        raw.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (page, table.name))
    return sqlite3.connect(damaged, isolation_level=None)


def _orphans(damaged: Path) -> list[int]:
    """The leaf pages of tables that none of the roots leads to."""
    with closing(sqlite3.connect(damaged, isolation_level=None)) as raw:
        with suppress(sqlite3.Error):  # else its log stays unread
            raw.execute("PRAGMA journal_mode = DELETE")
        ((size,),) = raw.execute("PRAGMA page_size").fetchall()
        roots = [1]
        with suppress(sqlite3.Error):
            query = "SELECT rootpage FROM sqlite_master WHERE rootpage > 0"
            roots += [row[0] for row in raw.execute(query)]
    with (
        damaged.open("rb") as file,
        closing(mmap(file.fileno(), 0, access=ACCESS_READ)) as content,
    ):
        reached = _reached(content, size, roots)
        last = len(content) // size
        return [
            page
            for page in range(1, last + 1)
            if page not in reached and content[(page - 1) * size] == TABLE_LEAF
        ]


def _reached(content: mmap, size: int, roots: Sequence[int]) -> set[int]:
    """The pages that these lead to, without those of long values."""
    last = len(content) // size
    reached: set[int] = set()
    left = [*roots]
    while left:
        page = left.pop()
        if 0 < page <= last and page not in reached:
            reached.add(page)
            begin = (page - 1) * size
            left += _children(content[begin : begin + size], FIRST if page == 1 else 0)
    return reached


def _children(page: bytes, header: int) -> Iterator[int]:
    """The pages that an inner page leads to."""
    if page[header] not in (TABLE_INNER, INDEX_INNER):
        return
    yield int.from_bytes(page[header + 8 : header + 12], "big")
    cells = int.from_bytes(page[header + 3 : header + 5], "big")
    for cell in range(cells):
        place = header + 12 + 2 * cell
        begin = int.from_bytes(page[place : place + 2], "big")
        yield int.from_bytes(page[begin : begin + 4], "big")
