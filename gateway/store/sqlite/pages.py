"""Rows of a damaged database, read page by page.

The layout of pages and records is that of sqlite.org/fileformat2.html. SQLite's own `.recover` is
left alone: it fails in builds without SQLITE_ENABLE_DBPAGE_VTAB, as that of Debian is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple, TypeAlias

Value: TypeAlias = int | float | str | bytes | None

TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER = 0x0D, 0x05, 0x0A, 0x02
KINDS = {TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER}
INNER = {TABLE_INNER, INDEX_INNER}
FIRST = 100
"""Bytes before the first page's own header."""
SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)
"""Bytes of values that have no length, by their kinds."""
ENOUGH = bytes(9)
"""In the place of what would stand behind a page: the longest number of bytes."""


class Stored(NamedTuple):
    """Values of a row as stored; `number` is None in an index."""

    number: int | None
    values: list[Value]


class Pages:
    """The pages of a database file."""

    def __init__(self, content: mmap, size: int) -> None:
        self._content = content
        self._size = size
        self.numbers = range(1, len(content) // size + 1)

    def _page(self, page: int) -> tuple[bytes, int]:
        """A page, and where its header begins."""
        content = self._content[(page - 1) * self._size : page * self._size]
        return content, FIRST if page == 1 else 0

    def kind(self, page: int) -> int:
        """The kind of the page, if it has one."""
        content, head = self._page(page)
        return content[head]

    def tree(self, root: int) -> dict[int, bool]:
        """Pages below a first page; False for what is none."""
        found: dict[int, bool] = {}
        left = [root]
        while left:
            page = left.pop()
            if page not in found:
                found[page] = page in self.numbers and self.kind(page) in KINDS
                left += self._below(page) if found[page] else ()
        return found

    def _below(self, page: int) -> Iterator[int]:
        content, head = self._page(page)
        if content[head] in INNER:
            yield int.from_bytes(content[head + 8 : head + 12], "big")
            for cell in _cells(content, head):
                yield int.from_bytes(content[cell : cell + 4], "big")

    def rows(self, page: int) -> Iterator[Stored | None]:
        """The rows of a page; None for each that can't be read."""
        content, head = self._page(page)
        kind = content[head]
        if kind == TABLE_INNER:
            return
        padded = content + ENOUGH
        for cell in _cells(content, head):
            try:
                yield self._row(padded, cell + 4 * (kind == INDEX_INNER), kind)
            except (IndexError, ValueError, struct.error):
                yield None

    def _row(self, page: bytes, at: int, kind: int) -> Stored:
        size, at = _number(page, at)
        number = None
        if kind == TABLE_LEAF:
            number, at = _number(page, at)
            number -= (number >> 63) << 64
        return Stored(number, _values(self._payload(page, at, size, table=number is not None)))

    def _payload(self, page: bytes, at: int, size: int, *, table: bool) -> bytes:
        """The bytes of a record, also those on pages of their own."""
        most = self._size - 35 if table else (self._size - 12) * 64 // 255 - 23
        if size <= most:
            return page[at : at + size]
        if size > len(self._content):
            raise ValueError
        least = (self._size - 12) * 32 // 255 - 23
        here = least + (size - least) % (self._size - 4)
        here = least if here > most else here
        parts, left = [page[at : at + here]], size - here
        further = int.from_bytes(page[at + here : at + here + 4], "big")
        while left > 0:
            content, _ = self._page(further) if further in self.numbers else (b"", 0)
            parts.append(content[4 : 4 + left])
            left -= len(parts[-1]) or left
            further = int.from_bytes(content[:4], "big")
        if further:  # the last one leads nowhere
            raise ValueError
        return b"".join(parts)


def _cells(page: bytes, head: int) -> Iterator[int]:
    """Where the cells of a page begin."""
    count = int.from_bytes(page[head + 3 : head + 5], "big")
    start = head + (12 if page[head] in INNER else 8)
    pointers = page[start : start + 2 * count]
    yield from (each for (each,) in struct.iter_unpack(">H", pointers[: len(pointers) // 2 * 2]))


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of up to nine bytes, and where it ends."""
    found = 0
    for place in range(at, at + 8):
        byte = data[place]
        found = found << 7 | byte & 0x7F
        if byte == byte & 0x7F:
            return found, place + 1
    return found << 8 | data[at + 8], at + 9


def _values(record: bytes) -> list[Value]:
    """The values of a record. Raises ValueError or IndexError."""
    place, at = _number(record, 0)
    body = place
    values: list[Value] = []
    while at < body:
        kind, at = _number(record, at)
        size = SIZES[kind] if kind < len(SIZES) else (kind - len(SIZES)) // 2
        values.append(_value(kind, record[place : place + size]))
        place += size
    if at != body or place != len(record):
        raise ValueError
    return values


def _value(kind: int, data: bytes) -> Value:
    match kind:
        case 0:
            return None
        case 7:
            return struct.unpack(">d", data)[0]
        case 8 | 9:
            return kind - 8
        case _ if kind < len(SIZES):
            return int.from_bytes(data, "big", signed=True)
        case _:
            return data.decode() if kind % 2 else data
