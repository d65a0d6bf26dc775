"""Contents of files as rows of a megabyte, by their hash.

Attachments and work folders share them. The database itself removes those that neither names any
more (see schema.sql).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from psycopg.types.numeric import Int8

from gateway.store.connection import Connection

PART = 1 << 20
"""Bytes of a part; only the last one of a content has less."""

BATCH = 4
"""Parts that are sent, or read, at once."""

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
        parts = (data[start : start + PART] for start in range(0, len(data), PART))
        put_parts(connection, {sha256: len(data)}, lambda _: parts)


def put_parts(
    connection: Connection, sizes: Mapping[str, int], parts_of: Callable[[str], Iterable[bytes]]
) -> None:
    """Store contents that are `missing`, some megabytes at once.

    `sizes` are those of the contents, by their hashes.
    """
    # In one order everywhere: two transactions with the same contents wait, and do not deadlock.
    hashes = sorted(sizes)
    # Int8: of plain numbers psycopg makes an array of a type that may be too small.
    connection.execute(_ADD, {"hashes": hashes, "sizes": [Int8(sizes[each]) for each in hashes]})
    batch: list[tuple[str, Int8, bytes]] = []
    size = 0
    for sha256 in hashes:
        for n, data in enumerate(parts_of(sha256)):
            batch.append((sha256, Int8(n), data))
            size += len(data)
            if size >= BATCH * PART:
                _send(connection, batch)
                batch, size = [], 0
    if batch:
        _send(connection, batch)


def _send(connection: Connection, batch: Sequence[tuple[str, Int8, bytes]]) -> None:
    hashes, numbers, parts = (list(column) for column in zip(*batch, strict=True))
    connection.execute(_ADD_PARTS, {"hashes": hashes, "numbers": numbers, "parts": parts})


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


def parts_of(connection: Connection, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """The parts of these contents, each content's in their order.

    A few megabytes are in memory at once. `sizes` are those of the contents, by their hashes.
    """
    small: list[str] = []
    for sha256 in sorted(sizes):
        if sizes[sha256] > PART:
            yield from _large(connection, sha256, sizes[sha256])
            continue
        small.append(sha256)
        if sum(sizes[each] for each in small) > BATCH * PART:
            yield from _small(connection, small)
            small = []
    if small:
        yield from _small(connection, small)


def _large(connection: Connection, sha256: str, size: int) -> Iterator[tuple[str, bytes]]:
    for first in range(0, -(-size // PART), BATCH):
        rows = connection.fetch(
            "SELECT data FROM content_parts"
            " WHERE sha256 = :sha256 AND n >= :first AND n < :end ORDER BY n",
            {"sha256": sha256, "first": first, "end": first + BATCH},
        )
        for row in rows:
            yield sha256, row["data"]


def _small(connection: Connection, hashes: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    rows = connection.fetch(
        "SELECT sha256, data FROM content_parts WHERE sha256 = ANY(:hashes) ORDER BY sha256, n",
        {"hashes": hashes},
    )
    for row in rows:
        yield row["sha256"], row["data"]
