"""Readable rows of a damaged database, also around its bad pages.

A table is read from both its ends up to the damage. What lies between is halved by its row numbers
until only the rows of bad pages are left, or entered behind the damage by its keys.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from gateway.values import value

MOST_ERRORS = 20_000
"""Reads of a table that may fail until the rest of it is left."""

ONE = 2
"""Distance of two row numbers that have one between them."""
LAST_NUMBER = 2**63 - 1
PER_TABLE = 1_000
"""Rows that are looked for behind the last readable one, where no index knows more."""
SURROGATES = 0xD800

SavedRow: TypeAlias = tuple[Any, ...]

_KINDS: dict[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "BOOLEAN": (int,),
    "REAL": (int, float),
    "BLOB": (bytes,),
}


@value
class Table:
    """A table as both databases know it."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    key: tuple[str, ...]
    """Columns of its key, where it has no row numbers; else empty."""


class Salvage:
    """The readable rows of one table; `whole` says whether those are all."""

    def __init__(self, raw: sqlite3.Connection, table: Table) -> None:
        self._raw = raw
        self._table = table
        self._errors = 0
        self._columns = ", ".join(table.columns)

    @property
    def whole(self) -> bool:
        """True if nothing was unreadable so far."""
        return not self._errors

    def rows(self) -> Iterator[SavedRow]:
        """Readable rows, some twice; a row number comes first."""
        found = self._by_key() if self._table.key else self._by_number()
        for row in found:
            if self._fits(row):
                yield row
            else:
                self._errors += 1

    def page(self) -> Iterator[SavedRow]:
        """Readable rows of a table that is one page, perhaps another's."""
        rows: list[SavedRow] = []
        query = f"SELECT rowid, {self._columns} FROM {self._table.name} NOT INDEXED ORDER BY rowid"
        self._read(query, (), rows)
        yield from filter(self._fits, rows)

    def _fits(self, row: SavedRow) -> bool:
        """Check that the values are of their columns' kinds."""
        values = row[-len(self._table.columns) :]
        pairs = zip(values, self._table.kinds, strict=True)
        return all(each is None or isinstance(each, _KINDS[kind]) for each, kind in pairs)

    def _read(self, query: str, parameters: Sequence[Any], into: list[SavedRow]) -> bool:
        """Read up to the end, or to the first error; False then."""
        try:
            for row in self._raw.execute(query, parameters):
                into.append(row)  # noqa: PERF402 (those before an error are kept)
        except (sqlite3.Error, OverflowError):
            self._errors += 1
            return False
        return True

    # --- by row number ---

    def _by_number(self) -> Iterator[SavedRow]:
        rows: list[SavedRow] = []
        base = f"SELECT rowid, {self._columns} FROM {self._table.name} NOT INDEXED"
        if self._read(f"{base} ORDER BY rowid", (), rows):
            yield from rows
            return
        yield from rows
        low = max((row[0] for row in rows), default=0)
        rows.clear()
        self._read(f"{base} WHERE rowid > ? ORDER BY rowid DESC", (low,), rows)
        yield from rows
        # A bad page may say any number: an index knows better.
        highest = self._highest_number() or low + PER_TABLE
        high = min(rows[-1][0] if rows else LAST_NUMBER, highest + 1)
        yield from self._between(base, low, high)

    def _highest_number(self) -> int:
        """The highest row number that an index knows."""
        highest = 0
        for index in self._indexes():
            rows: list[SavedRow] = []
            name = self._table.name
            self._read(f'SELECT rowid FROM {name} INDEXED BY "{index}"', (), rows)
            highest = max([highest, *(row[0] for row in rows)])
        with suppress(sqlite3.Error):
            for row in self._raw.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", (self._table.name,)
            ):
                highest = max(highest, row[0])
        return highest

    def _between(self, base: str, low: int, high: int) -> Iterator[SavedRow]:
        """Rows with numbers between these two, from halves of halves."""
        left = [(low, high)]
        while left and self._errors < MOST_ERRORS:
            low, high = left.pop()
            rows: list[SavedRow] = []
            if high - low <= ONE:
                if high - low == ONE:
                    self._read(f"{base} WHERE rowid = ?", (low + 1,), rows)
                    yield from rows
                continue
            query = f"{base} WHERE rowid > ? AND rowid < ? ORDER BY rowid"
            whole = self._read(query, (low, high), rows)
            yield from rows
            if not whole:
                # An empty page looks like a row with the number 0.
                low = max([low, *(row[0] for row in rows if row[0] < high)])
                middle = (low + high) // 2
                left += [(middle, high), (middle - 1, middle + 1), (low, middle)]

    # --- by key ---

    def _by_key(self) -> Iterator[SavedRow]:
        rows: list[SavedRow] = []
        key = ", ".join(self._table.key)
        base = f"SELECT {self._columns} FROM {self._table.name} NOT INDEXED"
        whole = self._read(f"{base} ORDER BY {key}", (), rows)
        yield from rows
        if whole:
            return
        yield from self._from_indexes()
        last: SavedRow | None = self._key_of(rows[-1]) if rows else None
        while self._errors < MOST_ERRORS:
            start = self._behind(base, key, last)
            if start is None:
                break
            for direction, order in ((">=", key), ("<", self._descending())):
                rows.clear()
                marks = ", ".join("?" * len(start))
                self._read(
                    f"{base} WHERE ({key}) {direction} ({marks}) ORDER BY {order}", start, rows
                )
                yield from rows
                if direction == ">=":
                    last = self._key_of(rows[-1]) if rows else start
        rows.clear()
        self._read(f"{base} ORDER BY {self._descending()}", (), rows)
        yield from rows

    def _descending(self) -> str:
        return ", ".join(f"{each} DESC" for each in self._table.key)

    def _key_of(self, row: SavedRow) -> SavedRow:
        return tuple(row[self._table.columns.index(each)] for each in self._table.key)

    def _behind(self, base: str, key: str, last: SavedRow | None) -> SavedRow | None:
        """Key of the nearest readable row behind the damage, or None."""
        first = self._table.key[0]
        for begin in _later_texts(last[0] if last else ""):
            rows: list[SavedRow] = []
            query = f"{base} WHERE {first} >= ? ORDER BY {key} LIMIT 1"
            if self._read(query, (begin,), rows) and rows:
                return self._key_of(rows[0])
        return None

    def _from_indexes(self) -> Iterator[SavedRow]:
        """Rows that an index holds whole."""
        for index in self._indexes():
            if {*self._columns_of(index), *self._table.key} >= {*self._table.columns}:
                rows: list[SavedRow] = []
                name = self._table.name
                self._read(f'SELECT {self._columns} FROM {name} INDEXED BY "{index}"', (), rows)
                yield from rows

    def _columns_of(self, index: str) -> list[str]:
        with suppress(sqlite3.Error):
            query = "SELECT name FROM pragma_index_info(?)"
            return [row[0] for row in self._raw.execute(query, (index,))]
        return []

    def _indexes(self) -> list[str]:
        with suppress(sqlite3.Error):
            query = "SELECT name FROM pragma_index_list(?) WHERE origin <> 'pk' AND NOT partial"
            return [row[0] for row in self._raw.execute(query, (self._table.name,))]
        return []


def _later_texts(text: str) -> Iterator[str]:
    """Texts behind this one, nearer ones first."""
    for length in range(len(text), 0, -1):
        code = ord(text[length - 1]) + 1
        if code < SURROGATES:
            yield text[: length - 1] + chr(code)
    if not text:
        yield from (chr(code) for code in range(1, 128))
