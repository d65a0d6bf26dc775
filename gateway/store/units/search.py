"""Search for threads by their words.

In the threads used last, each list of words is read. To the others leads an index of the beginnings
of words. Texts are read only until their words are in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from gateway.store.connection import Connection, Row
from gateway.store.units.rows import listed, scalar
from gateway.store.units.search_index import indexed_thread

RECENT = 500
"""Threads used last, in which parts are also found inside of words."""
FEW = 1_000
"""Hits that are looked at each; of more, the threads used last come first."""
MANY = 20_000
"""Hits that are collected; of more, the lists of words are read."""
LOOKED_UP = 8
"""Parts that are looked up in the index; for those behind them, the lists of words are read."""
PAGE = 100
"""Lists that are read at once."""

OF_PLATFORM = "(:platform = '' OR t.key >= :platform || '/' AND t.key < :platform || '0')"

_SLICES = """
WITH RECURSIVE slices (n) AS (
    SELECT (SELECT MAX(slice) FROM word_threads) UNION ALL SELECT n - 1 FROM slices WHERE n > 0
)
"""
_HITS = (
    "SELECT h.thread FROM slices CROSS JOIN word_threads h WHERE h.slice = slices.n"
    " AND h.word >= :part{n} AND h.word < :part{n} || :beyond"
)
_BEYOND = "\U0010ffff"


_Found: TypeAlias = tuple[float, int]
"""When a thread was used last, and its row."""


def found_threads(
    connection: Connection, parts: Sequence[str], platform: str, most: int
) -> list[int]:
    """Rows of the threads with all parts, the last used first."""
    # Texts come first: meanwhile their words may be moved to the index.
    found = {*islice(_in_texts(connection, parts, platform), most)}
    if connection.fetch("SELECT 1 FROM searched LIMIT 1"):
        found.update(islice(_in_lists(connection, parts, platform), most))
        if len(found) < most:
            found.update(islice(_in_index(connection, parts, platform, most), most))
    return [row for _, row in sorted(found, reverse=True)[:most]]


def _in_texts(connection: Connection, parts: Sequence[str], platform: str) -> Iterator[_Found]:
    """Those that are not wholly in the index, newest first."""
    for row in connection.fetch(
        "SELECT t.updated_at, t.rowid, t.id"
        " FROM (SELECT DISTINCT thread FROM unsearched) u CROSS JOIN threads t"
        f" WHERE t.id = u.thread AND {OF_PLATFORM} ORDER BY +t.updated_at DESC, t.rowid DESC",
        {"platform": platform},
    ):
        known = indexed_thread(connection, row["id"])
        texts = [known.words, *(each["text"].casefold() for each in known.unread(connection))]
        if all(any(part in text for text in texts) for part in parts):
            yield row["updated_at"], row["rowid"]


def _in_lists(connection: Connection, parts: Sequence[str], platform: str) -> Iterator[_Found]:
    """Those of the threads used last, newest first."""
    rows = connection.fetch(
        f"SELECT t.updated_at, t.rowid, t.number FROM threads t WHERE {_where(platform)}"
        " ORDER BY t.updated_at DESC LIMIT :recent",
        {"platform": platform, "recent": RECENT},
    )
    return _having(connection, rows, parts)


def _in_index(
    connection: Connection, parts: Sequence[str], platform: str, most: int
) -> Iterator[_Found]:
    """Those in which each part begins a word, newest first."""
    numbers = range(min(len(parts), LOOKED_UP))
    parameters = {f"part{n}": parts[n] for n in numbers}
    parameters |= {"beyond": _BEYOND, "platform": platform, "many": MANY, "most": most}
    counted = f"{_SLICES} SELECT COUNT(*) FROM (SELECT 1 FROM ({_HITS}) AS h LIMIT :many) AS n"
    hits = [scalar(connection, counted.format(n=n), parameters) for n in numbers]
    source, order, limit, many = "threads t", "t.updated_at", "LIMIT :most", MANY
    if min(hits) <= FEW:
        few = f"SELECT DISTINCT thread FROM ({_HITS.format(n=hits.index(min(hits)))}) AS found"
        source, order, many = f"({few}) AS few CROSS JOIN threads t", "+t.updated_at", FEW
    where = ["t.number = few.thread"] if many == FEW else []
    where += [f"+t.number IN ({_HITS.format(n=n)})" for n in numbers if hits[n] < many]
    unsure = [parts[n] for n in numbers if hits[n] >= many]
    if unsure := [*unsure, *parts[LOOKED_UP:]]:
        limit = ""
    rows = connection.fetch(
        f"{_SLICES} SELECT t.updated_at, t.rowid, t.number FROM {source}"
        f" WHERE {' AND '.join([*where, _where(platform)])}"
        f" ORDER BY {order} DESC, t.rowid DESC {limit}",
        parameters,
    )
    return _having(connection, rows, unsure)


def _where(platform: str) -> str:
    """Threads of the platform; else of all, as the index knows them."""
    return OF_PLATFORM if platform else "t.number IS NOT NULL"


def _having(connection: Connection, rows: Sequence[Row], parts: Sequence[str]) -> Iterator[_Found]:
    """Those whose lists of words have the parts, newest first."""
    newest = sorted(((row[0], row[1], row[2]) for row in rows), reverse=True)
    for begin in range(0, len(newest), PAGE):
        page = newest[begin : begin + PAGE]
        names, numbers = listed("number", [number for _, _, number in page])
        query = f"SELECT number, words FROM searched WHERE number IN {names}"
        words = {row["number"]: row["words"] for row in connection.fetch(query, numbers)}
        for updated_at, row, number in page:
            if not parts or all(part in words.get(number, "") for part in parts):
                yield updated_at, row
