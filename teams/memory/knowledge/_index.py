"""The index: one SQLite file with passages, their words and their vectors."""

from __future__ import annotations

import asyncio
import heapq
import os
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import mul
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from teams.memory.knowledge._passages import indexed_form, match_of, passages_of

P = ParamSpec("P")
T = TypeVar("T")

VERSION = 2
PATIENCE = 30.0
"""Seconds for which another process may write."""
CANDIDATES = 500
"""Passages whose vectors are compared in full; the signs of their numbers choose them."""
FUSION = 60
"""The usual constant of reciprocal rank fusion."""

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    stamp TEXT NOT NULL, digest TEXT NOT NULL, problem TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS passages (id INTEGER PRIMARY KEY, source INTEGER NOT NULL,
    line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS passages_of_source ON passages (source);
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, model TEXT NOT NULL,
    signs BLOB NOT NULL, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words
    USING fts5(text, tokenize = "unicode61 remove_diacritics 2");
CREATE TRIGGER IF NOT EXISTS source_goes AFTER DELETE ON sources BEGIN
    DELETE FROM passages WHERE source = old.id;
END;
CREATE TRIGGER IF NOT EXISTS passage_goes AFTER DELETE ON passages BEGIN
    DELETE FROM words WHERE rowid = old.id;
    DELETE FROM vectors WHERE id = old.id;
END;
PRAGMA user_version = {VERSION};
COMMIT;
"""


class Known(NamedTuple):
    """A source when it was read; the stamp marks its version."""

    stamp: str
    digest: str
    problem: str


class Index:
    """The file at a path, or one in memory.

    A file that is broken or of another version is set aside, and begun anew.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    async def call(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kw: P.kwargs
    ) -> T:
        """Do work with the connection: in a worker, and in one transaction."""

        def run() -> T:
            with self._lock:
                try:
                    with self._open() as connection:
                        return work(connection, *args, **kw)
                except sqlite3.DatabaseError as error:
                    self.close()
                    if type(error) is not sqlite3.DatabaseError:  # not the file's fault
                        raise
                self._set_aside()
                with self._open() as connection:
                    return work(connection, *args, **kw)

        return await asyncio.to_thread(run)

    def close(self) -> None:
        """Close the file until it is needed again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connection = _connected(self._path)
            [version] = connection.execute("PRAGMA user_version").fetchone()
            [state] = connection.execute("PRAGMA quick_check(1)").fetchone()
            if version not in (0, VERSION) or state != "ok":
                raise sqlite3.DatabaseError(f"{state}, version {version}")
            connection.executescript(_SCHEMA)
        return self._connection

    def _set_aside(self) -> None:
        for end in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(f"{self._path}{end}", f"{self._path}.broken{end}")


def _connected(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return sqlite3.connect(
        path or ":memory:", timeout=PATIENCE, isolation_level="IMMEDIATE", check_same_thread=False
    )


def known_sources(connection: sqlite3.Connection) -> dict[str, Known]:
    """All sources by their names."""
    rows = connection.execute("SELECT name, stamp, digest, problem FROM sources")
    return {name: Known(*rest) for name, *rest in rows}


def put_source(connection: sqlite3.Connection, name: str, known: Known, text: str | None) -> None:
    """Replace a source; without a text, its version alone."""
    if text is None:
        connection.execute("UPDATE sources SET stamp = ? WHERE name = ?", (known.stamp, name))
        return
    remove_sources(connection, [name])
    put = "INSERT INTO sources (name, stamp, digest, problem) VALUES (?, ?, ?, ?)"
    source = connection.execute(put, (name, *known)).lastrowid
    for passage in passages_of(text):
        put = "INSERT INTO passages (source, line, end_line, text) VALUES (?, ?, ?, ?)"
        place = connection.execute(put, (source, *passage)).lastrowid
        words = indexed_form(f"{name}\n{passage.text}")
        connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (place, words))


def remove_sources(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Forget sources with all that was found in them."""
    connection.executemany("DELETE FROM sources WHERE name = ?", [(name,) for name in names])


def without_vectors(connection: sqlite3.Connection, model: str, most: int) -> list[tuple[int, str]]:
    """Passages that have no vector of this model yet."""
    known = "SELECT id FROM vectors WHERE model = ?"
    wanted = f"SELECT id, text FROM passages WHERE id NOT IN ({known}) LIMIT ?"
    return connection.execute(wanted, (model, most)).fetchall()


def put_vectors(
    connection: sqlite3.Connection,
    model: str,
    passages: Sequence[tuple[int, str]],
    vectors: Sequence[array[float]],
) -> None:
    """Keep the passages' vectors, unless the text has changed meanwhile."""
    put = (
        "INSERT OR REPLACE INTO vectors SELECT id, ?, ?, ? FROM passages WHERE id = ? AND text = ?"
    )
    for passage, vector in zip(passages, vectors, strict=True):
        connection.execute(put, (model, _signs(vector), vector.tobytes(), *passage))


def find(
    connection: sqlite3.Connection, question: str, count: int, model: str, vector: array[float]
) -> list[tuple[str, int, int, str, float]]:
    """The best passages by words and, with the question's vector, by meaning.

    Each with its source, its first and last line, and its score.
    """
    ranked = "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    found = connection.execute(ranked, (match_of(question), CANDIDATES)).fetchall()
    scores: dict[int, float] = dict(found)
    if vector:
        scores = dict.fromkeys(scores, 0.0)
        for places in ([*scores], _nearest(connection, model, vector)):
            for rank, place in enumerate(places, start=1):
                scores[place] = scores.get(place, 0.0) + 1 / (FUSION + rank)
    best = heapq.nlargest(count, scores, key=scores.__getitem__)
    wanted = (
        "SELECT name, line, end_line, text FROM passages JOIN sources ON sources.id = source "
        "WHERE passages.id = ?"
    )
    return [(*connection.execute(wanted, (place,)).fetchone(), scores[place]) for place in best]


def _nearest(connection: sqlite3.Connection, model: str, vector: array[float]) -> list[int]:
    """The passages nearest by the cosine, best first."""
    signs = int.from_bytes(_signs(vector))
    rows = connection.execute("SELECT signs, id FROM vectors WHERE model = ?", (model,))
    distances = (((int.from_bytes(bits) ^ signs).bit_count(), place) for bits, place in rows)
    whole = "SELECT vector FROM vectors WHERE id = ?"

    def cosine(place: int) -> float:
        row = connection.execute(whole, (place,)).fetchone()
        return sum(map(mul, vector, array("f", row[0])))

    near = [place for _, place in heapq.nsmallest(CANDIDATES, distances)]
    return sorted(near, key=cosine, reverse=True)


def _signs(vector: array[float]) -> bytes:
    """One bit for each number: whether it is positive."""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return int(bits, 2).to_bytes(len(bits) // 8 + 1)
