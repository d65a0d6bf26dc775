"""Contents of files as rows of a megabyte, by their hash.

Attachments and work folders share them. The database itself removes those that neither names any
more (see triggers.sql).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from psycopg.types.numeric import Int8

from gateway.store.connection import Connection

PART = 1 << 20
"""Bytes of a part; only the last one of a content has less."""

BATCH = 4 * PART
"""Bytes of contents that are sent, or read, at once."""

_ADD = """
    INSERT INTO contents (sha256, size)
    SELECT * FROM unnest(:hashes::text[], :sizes::bigint[])
    ON CONFLICT (sha256) DO UPDATE SET size = excluded.size
"""
"""Locks a row also if another transaction has added it just now."""

_ADD_PARTS = """
    INSERT INTO content_parts (sha256, n, data)
    SELECT * FROM unnest(:hashes::text[], :numbers::bigint[], :parts::bytea[])
    ON CONFLICT DO NOTHING
"""


def missing(connection: Connection, hashes: Collection[str]) -> set[str]:
    """Contents that are not stored; the others stay until the commit."""
    if not hashes:
        return set()
    rows = connection.fetch(
        "SELECT sha256 FROM contents WHERE sha256 = ANY(:hashes) ORDER BY sha256 FOR KEY SHARE",
        {"hashes": sorted(hashes)},
    )
    return set(hashes).difference(row["sha256"] for row in rows)


def put_contents(connection: Connection, sha256: str, data: bytes) -> None:
    """Store a content, unless it is there."""
    if missing(connection, [sha256]):
        put_missing(connection, {sha256: len(data)}, lambda _: data)


def put_missing(
    connection: Connection, sizes: Mapping[str, int], content: Callable[[str], bytes]
) -> None:
    """Store contents that are `missing`, some megabytes at once.

    `sizes` are those of the contents, by their hashes.
    """
    # In one order everywhere: two transactions with the same contents wait, and do not deadlock.
    hashes = sorted(sizes)
    # Int8: of plain numbers psycopg makes an array of a type that may be too small.
    connection.execute(_ADD, {"hashes": hashes, "sizes": [Int8(sizes[each]) for each in hashes]})
    for batch in _batches(hashes, sizes):
        parts = [
            (each, Int8(start // PART), data[start : start + PART])
            for each in batch
            for data in [content(each)]
            for start in range(0, len(data), PART)
        ]
        if parts:  # none of empty contents
            of_each, numbers, data = (list(column) for column in zip(*parts, strict=True))
            connection.execute(_ADD_PARTS, {"hashes": of_each, "numbers": numbers, "parts": data})


def contents(connection: Connection, sha256: str, longest: int | None = None) -> bytes:
    """A content, or its first `longest` bytes alone."""
    if longest is None:
        rows = connection.fetch(
            "SELECT data FROM content_parts WHERE sha256 = :sha256 ORDER BY n", {"sha256": sha256}
        )
    else:
        rows = connection.fetch(
            "SELECT substr(data, 1, (:longest - n * :part)::int) AS data"
            " FROM content_parts WHERE sha256 = :sha256 AND n * :part < :longest ORDER BY n",
            {"sha256": sha256, "longest": longest, "part": PART},
        )
    return b"".join(row["data"] for row in rows)


def contents_of(connection: Connection, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """These contents with their hashes, as far as they are stored.

    Some megabytes are read at once. `sizes` are those of the contents, by their hashes.
    """
    for batch in _batches(sorted(sizes), sizes):
        parts = connection.fetch(
            "SELECT sha256, data FROM content_parts WHERE sha256 = ANY(:hashes) ORDER BY sha256, n",
            {"hashes": batch},
        )
        for sha256, some in groupby(parts, key=itemgetter("sha256")):
            yield sha256, b"".join(each["data"] for each in some)


def _batches(hashes: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Contents of some megabytes together, or a larger one."""
    batch: list[str] = []
    size = 0
    for sha256 in hashes:
        if batch and size + sizes[sha256] > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(sha256)
        size += sizes[sha256]
    if batch:
        yield batch
