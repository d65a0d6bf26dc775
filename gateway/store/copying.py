"""Copy of all rows of a store to another database.

Rows go over in the order of their keys, in batches. Each batch is committed together with a note of
how far its table is, so that a copy that was ended goes on behind its last batch. The sum of the
rows' hashes is kept in that note, too, and compared at the end with the rows that the copy holds.
"""

from __future__ import annotations

import json
import marshal
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import blake2b
from operator import methodcaller
from threading import Event
from typing import Any, TypeAlias

from gateway.errors import GatewayError, StoreError
from gateway.store.connection import Connection
from gateway.store.formats import tables
from gateway.store.records import StoreFault
from gateway.store.tables import (
    DERIVED,
    DERIVED_COLUMNS,
    NOTES,
    ROW_NUMBER,
    StoredRow,
    Tables,
    copied,
)
from gateway.store.units.audit import note
from gateway.store.units.invariants import broken_laws
from gateway.store.value_rows import put
from gateway.store.work.rows import FORGET
from gateway.values import value

MOST_ROWS = 5_000
MOST_BYTES = 16 * 2**20
"""Rows of a commit, and the bytes after which no further row is added to it."""

_NUL, _VISIBLE_NUL = "\0", "\u2400"
_SUMS = 2**128
_LATEST = "SELECT COALESCE(MAX(id), 0) FROM audit"
_SOURCE, _ASIDE = "source", "aside"
"""Names of notes: from where the rows are, and the statements that restore what was put aside."""
_MAKE_NOTES = f"CREATE TABLE {NOTES} (name TEXT PRIMARY KEY, value TEXT NOT NULL)"

FILES = "blobs"
"""The contents of attachments, which each database keeps in tables of its own."""
_NAMED = "(SELECT DISTINCT sha256 FROM attachments) AS named"
_FILES_BEHIND = f"SELECT sha256 FROM {_NAMED} WHERE sha256 > :after ORDER BY sha256"


CopyFiles: TypeAlias = Callable[[Callable[[int, int], None]], int]
"""Copies work folders, and tells how many of how many are done; number of files left out."""


@value
class Step:
    """Progress of one table, for people."""

    table: str
    done: int
    total: int
    checking: bool = False
    """All rows are copied; they are read and compared."""


@value
class CopyReport:
    """Facts about a complete copy."""

    rows: Mapping[str, int]
    replaced: int
    """Texts in which the character NUL was replaced."""
    faults: tuple[StoreFault, ...]
    """Faults that the source has, too."""
    left_out: int
    """Files of work folders that the copy does not have."""


@dataclass(slots=True)
class _Progress:
    """Progress of a table, kept in its note."""

    after: Sequence[Any] = ()
    rows: int = 0
    replaced: int = 0
    checksum: int = 0

    def add(self, row: StoredRow) -> int:
        """Count a row as it is stored; its size in bytes."""
        # Version 2 writes equal values always the same, and numbers as they are.
        encoded = marshal.dumps(row, 2)
        digest = int.from_bytes(blake2b(encoded, digest_size=16).digest())
        self.checksum = (self.checksum + digest) % _SUMS
        self.rows += 1
        return len(encoded)

    def dump(self) -> str:
        return json.dumps(asdict(self))


class Copy:
    """A copy of `source` to `target`, from where an earlier one ended.

    `tell` is called after each step. `files` copies the work folders.
    """

    def __init__(
        self,
        source: Tables,
        target: Tables,
        *,
        tell: Callable[[Step], None],
        files: CopyFiles = lambda step: 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._source = source
        self._target = target
        self._tell = tell
        self._files = files
        self._clock = clock
        self._ended = Event()

    def end(self) -> None:
        """End it from another worker; what is committed stays."""
        self._ended.set()
        self._source.interrupt()
        self._target.interrupt()

    def run(self) -> CopyReport:
        """Copy and compare everything.

        Raises StoreError where the target holds something else, or a row differs, and CopyEnded.
        """
        aside = self._begin()
        columns = _columns()
        done = {table: self._copy(table, names) for table, names in columns.items()}
        for table, names in columns.items():
            self._compare(table, names, done[table])
        left_out = self._files(self._step_of_files)
        with self._target.transaction():
            self._target.complete(aside, self._source.last_numbers())
            faults = self._faults()
            self._target.run(methodcaller("execute", FORGET))
            self._target.run(self._end_notes)
        return CopyReport(
            rows={table: progress.rows for table, progress in done.items()},
            replaced=sum(progress.replaced for progress in done.values()),
            faults=tuple(faults),
            left_out=left_out,
        )

    def _begin(self) -> Sequence[str]:
        """Begin, or go on, with the statements that restore all."""
        ((latest,),) = self._source.run(methodcaller("fetch", _LATEST))
        begun = self._notes()
        if not begun:
            self._require_empty()
            with self._target.transaction():
                aside = self._target.begin()
                self._target.run(methodcaller("execute", _MAKE_NOTES))
                self._note(_SOURCE, json.dumps([self._source.name, latest]))
                self._note(_ASIDE, json.dumps(aside))
            return aside
        name, audited = json.loads(begun[_SOURCE])
        if name != self._source.name:
            raise StoreError(
                f"A copy of {name} was begun in {self._target.name}; this store is"
                f" {self._source.name}. Remove that copy, or name another place."
            )
        if audited != latest:  # every change of a store is in its audit
            raise StoreError(
                f"{name} was used since its copy in {self._target.name} was begun. Remove that copy"
                " and begin anew."
            )
        return json.loads(begun[_ASIDE])

    def _require_empty(self) -> None:
        if any(_count(self._target, table) for table in _columns()):
            raise StoreError(f"There is a store in {self._target.name} already.")

    def _notes(self) -> Mapping[str, str]:
        if not self._target.is_begun():
            return {}
        query = f"SELECT name, value FROM {NOTES}"
        found = self._target.run(methodcaller("fetch", query))
        return {row["name"]: row["value"] for row in found}

    def _note(self, name: str, text: str) -> None:
        self._target.run(
            lambda connection: put(connection, NOTES, ("name",), name=name, value=text)
        )

    def _end_notes(self, connection: Connection) -> None:
        copied_from = {"object": self._source.name, "outcome": "source"}
        connection.now = self._clock()
        note(connection, "store.copied", **copied_from)
        connection.execute(f"DROP TABLE {NOTES}")

    def _copy(self, table: str, columns: Sequence[str]) -> _Progress:
        note = self._notes().get(table)
        progress = _Progress(**json.loads(note)) if note else _Progress()
        total = _count(self._source, table)
        self._tell(Step(table=table, done=progress.rows, total=total))
        with closing(_read(self._source, table, columns, tuple(progress.after))) as rows:
            while batch := self._take(rows, len(columns), progress):
                with self._target.transaction(table):
                    self._put(table, columns, batch)
                    self._note(table, progress.dump())
                self._tell(Step(table=table, done=progress.rows, total=total))
                self._stop_if_ended()
        if progress.rows != total:
            raise _differs(table, self._target, f"{progress.rows:,} of {total:,} rows")
        return progress

    def _put(self, table: str, columns: Sequence[str], rows: Sequence[StoredRow]) -> None:
        if table == FILES:
            self._target.run(lambda connection: _put_files(connection, rows))
        else:
            self._target.add(table, columns, rows)

    def _take(
        self, rows: Iterator[StoredRow], width: int, progress: _Progress
    ) -> Sequence[StoredRow]:
        """The rows of the next commit; none at the end."""
        taken: list[StoredRow] = []
        size = 0
        for read in rows:
            row = read[-width:]
            if not self._target.keeps_nul and any(map(_has_nul, row)):
                progress.replaced += sum(map(_has_nul, row))
                row = tuple(map(_without_nul, row))
            size += progress.add(row)
            taken.append(row)
            progress.after = read[:-width]
            if len(taken) >= MOST_ROWS or size >= MOST_BYTES:
                break
        return taken

    def _compare(self, table: str, columns: Sequence[str], copied: _Progress) -> None:
        """Read the copy's rows. Raises StoreError where they are others."""
        found = _Progress()
        with closing(_read(self._target, table, columns)) as rows:
            for row in rows:
                found.add(row)
                if found.rows % MOST_ROWS == 0:
                    self._tell(Step(table=table, done=found.rows, total=copied.rows, checking=True))
                    self._stop_if_ended()
        self._tell(Step(table=table, done=found.rows, total=copied.rows, checking=True))
        if found.rows != copied.rows:
            raise _differs(table, self._target, f"{found.rows:,} of {copied.rows:,} rows")
        if found.checksum != copied.checksum:
            raise _differs(table, self._target, "other values")

    def _step_of_files(self, done: int, total: int) -> None:
        self._tell(Step(table="work folders", done=done, total=total))
        self._stop_if_ended()

    def _faults(self) -> Sequence[StoreFault]:
        """Faults of both stores. Raises StoreError where only the copy has one."""
        found = self._target.run(broken_laws)
        known = self._source.run(broken_laws) if found else []
        if new := [each.text for each in found if each not in known]:
            raise StoreError(f"The copy in {self._target.name} is not sound: {new[0]}.")
        return found

    def _stop_if_ended(self) -> None:
        if self._ended.is_set():
            raise CopyEnded


class CopyEnded(GatewayError):
    """The copy was ended before it was complete."""

    def __init__(self) -> None:
        super().__init__("The copy was ended. The same command goes on where it is.")


def _columns() -> Mapping[str, Sequence[str]]:
    """The columns to copy of each table."""
    columns: dict[str, Sequence[str]] = {FILES: ("sha256", "data")}
    for name, table in tables().items():
        if name not in DERIVED:
            own = [each for each in table.kinds if each not in DERIVED_COLUMNS.get(name, ())]
            columns[name] = (*own, ROW_NUMBER) if table.numbered else own
    return dict(sorted(columns.items()))


def _count(tables: Tables, table: str) -> int:
    rows = _NAMED if table == FILES else f"{table} WHERE {copied(table)}"
    return tables.run(methodcaller("fetch", f"SELECT COUNT(*) AS n FROM {rows}"))[0]["n"]


def _read(
    tables: Tables, table: str, columns: Sequence[str], after: StoredRow | None = None
) -> Generator[StoredRow]:
    if table != FILES:
        yield from tables.read(table, columns, after)
        return
    behind = {"after": after[0] if after else ""}
    for (sha256,) in tables.run(methodcaller("fetch", _FILES_BEHIND, behind)):
        data = tables.run(methodcaller("contents", sha256))
        yield (sha256, data) if after is None else (sha256, sha256, data)


def _put_files(connection: Connection, rows: Sequence[StoredRow]) -> None:
    for sha256, data in rows:
        connection.put_contents(sha256, data)


def _differs(table: str, target: Tables, found: str) -> StoreError:
    return StoreError(
        f"The copy of the table {table!r} in {target.name} is not equal: it has {found}. Remove the"
        " copy and begin anew; `parley store check` says whether the store itself is damaged."
    )


def _has_nul(each: Any) -> bool:
    return isinstance(each, str) and _NUL in each


def _without_nul(each: Any) -> Any:
    return each.replace(_NUL, _VISIBLE_NUL) if isinstance(each, str) else each
