"""Search for threads by their words.

In the threads used last, each list of words is read. To the others leads an index of the beginnings
of words. Texts are read only until their words are in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gateway.store.connection import Connection, Parameters
from gateway.store.units.rows import scalar
from gateway.store.units.search_index import indexed_thread

RECENT = 1_000
"""Threads used last, in which parts are also found inside of words."""
FEW = 1_000
"""Hits that are looked at each; of more, the threads used last come first."""
MANY = 20_000
"""Hits that are collected; of more, each thread's list of words is read."""

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
_LISTED = "instr((SELECT words FROM searched WHERE thread = t.id), :part{n}) > 0"
_NEWEST = "ORDER BY t.updated_at DESC, t.rowid DESC"
_BEYOND = "\U0010ffff"


class FoundThread(NamedTuple):
    """The place of a thread among all: when it was used last, and its row."""

    updated_at: float
    row: int


def found_threads(
    connection: Connection, parts: Sequence[str], platform: str, most: int
) -> list[FoundThread]:
    """The threads used last that have all of the parts."""
    parameters = {
        **{f"part{n}": part for n, part in enumerate(parts)},
        "beyond": _BEYOND,
        "platform": platform,
        "most": most,
        "recent": RECENT,
        "many": MANY,
    }
    # Texts come first: meanwhile their words may be moved to the index.
    found = {*islice(_in_texts(connection, parts, platform), most)}
    found.update(_in_lists(connection, len(parts), parameters))
    if len(found) < most:
        found.update(_in_index(connection, len(parts), parameters))
    return sorted(found, reverse=True)[:most]


def _in_texts(connection: Connection, parts: Sequence[str], platform: str) -> Iterator[FoundThread]:
    """Those of the threads that are not wholly in the index, newest first."""
    for row in connection.fetch(
        "SELECT t.updated_at, t.rowid, t.id FROM unsearched u JOIN threads t ON t.id = u.thread"
        f" WHERE {OF_PLATFORM} {_NEWEST}",
        {"platform": platform},
    ):
        known = indexed_thread(connection, row["id"])
        texts = [known.words, *(each["text"].casefold() for each in known.unread(connection))]
        if all(any(part in text for text in texts) for part in parts):
            yield FoundThread(row["updated_at"], row["rowid"])


def _in_lists(connection: Connection, parts: int, parameters: Parameters) -> Iterator[FoundThread]:
    """Those of the threads used last of all."""
    where = " AND ".join(_LISTED.format(n=n) for n in range(parts))
    rows = connection.fetch(
        "SELECT t.updated_at, t.rowid FROM (SELECT updated_at, rowid, id, key FROM threads t"
        f" {_NEWEST} LIMIT :recent) t WHERE {OF_PLATFORM} AND {where} {_NEWEST} LIMIT :most",
        parameters,
    )
    return (FoundThread(*row) for row in rows)


def _in_index(connection: Connection, parts: int, parameters: Parameters) -> Iterator[FoundThread]:
    """Those of the threads in which each part begins a word."""
    hits = [
        scalar(
            connection,
            f"{_SLICES} SELECT COUNT(*) FROM (SELECT 1 FROM ({_HITS.format(n=n)}) LIMIT :many)",
            parameters,
        )
        for n in range(parts)
    ]
    if not all(hits):
        return iter(())
    where = [
        f"+t.number IN ({_HITS.format(n=n)})" if hits[n] < MANY else _LISTED.format(n=n)
        for n in range(parts)
    ]
    source, newest, rarest = "threads t", _NEWEST, hits.index(min(hits))
    if hits[rarest] <= FEW:
        source = f"(SELECT DISTINCT thread FROM ({_HITS.format(n=rarest)})) f, threads t"
        where = [_LISTED.format(n=n) for n in range(parts)]
        where[rarest], newest = "t.number = f.thread", _NEWEST.replace("t.up", "+t.up")
    rows = connection.fetch(
        f"{_SLICES} SELECT t.updated_at, t.rowid FROM {source}"
        f" WHERE {' AND '.join(where)} AND {OF_PLATFORM} {newest} LIMIT :most",
        parameters,
    )
    return (FoundThread(*row) for row in rows)
