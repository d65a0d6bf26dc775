"""Copy of all rows of a store to another database.

Rows go over in the order of their keys, in batches. Each batch is committed together with a note of
how far its table is, so that a copy that was ended goes on behind its last batch. The sum of the
rows' hashes is kept in that note, too, and compared at the end with the rows that the copy holds.
"""

from __future__ import annotations

import json
import marshal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import blake2b
from threading import Event
from typing import Any, TypeAlias

from gateway.errors import GatewayError, StoreError
from gateway.store.connection import Connection
from gateway.store.records import StoreFault
from gateway.store.tables import (
    DERIVED,
    DERIVED_COLUMNS,
    ROW_NUMBER,
    SOURCE,
    NewTables,
    StoredRow,
    Tables,
)
from gateway.store.units.audit import note
from gateway.store.units.invariants import broken_laws
from gateway.values import value

MOST_ROWS = 5_000
MOST_BYTES = 16 * 2**20
"""Rows of a commit, and the bytes after which no further row is added to it."""

_NUL, _VISIBLE_NUL = "\0", "\u2400"
_SUMS = 2**128
_LATEST = "SELECT COALESCE(MAX(id), 0) FROM audit"


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
        target: NewTables,
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
        """End it from another thread; what is committed stays."""
        self._ended.set()
        self._source.interrupt()
        self._target.interrupt()

    def run(self) -> CopyReport:
        """Copy and compare everything.

        Raises StoreError where the target holds something else, or a row differs, and CopyEnded.
        """
        self._begin()
        columns = _shared(self._source, self._target)
        copied = {table: self._copy(table, names) for table, names in columns.items()}
        for table, names in columns.items():
            self._compare(table, names, copied[table])
        left_out = self._files(self._step_of_files)
        with self._target.completion(self._source.last_numbers()):
            faults = self._faults()
            self._target.run(self._note_source)
        return CopyReport(
            rows={table: progress.rows for table, progress in copied.items()},
            replaced=sum(progress.replaced for progress in copied.values()),
            faults=tuple(faults),
            left_out=left_out,
        )

    def _note_source(self, connection: Connection) -> None:
        copied_from = {"object": self._source.name, "outcome": "source"}
        note(connection, self._clock(), "store.copied", **copied_from)

    def _begin(self) -> None:
        """Begin, or go on with a copy of the same source."""
        ((latest,),) = self._source.run(lambda connection: connection.fetch(_LATEST))
        begun = self._target.notes().get(SOURCE)
        if begun is None:
            self._require_empty()
            self._target.begin(json.dumps([self._source.name, latest]))
            return
        name, audited = json.loads(begun)
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

    def _require_empty(self) -> None:
        for table in {*self._target.columns()}.difference(DERIVED):
            if self._target.count(table):
                raise StoreError(f"There is a store in {self._target.name} already.")

    def _copy(self, table: str, columns: Sequence[str]) -> _Progress:
        note, key = self._target.notes().get(table), self._source.key(table)
        progress = _Progress(**json.loads(note)) if note else _Progress()
        total = self._source.count(table)
        self._tell(Step(table=table, done=progress.rows, total=total))
        with closing(
            self._source.read(table, (*key, *columns), by=key, after=progress.after)
        ) as rows:
            while batch := self._take(rows, len(key), progress):
                self._target.put(table, columns, batch, progress.dump())
                self._tell(Step(table=table, done=progress.rows, total=total))
                self._stop_if_ended()
        if progress.rows != total:
            raise _differs(table, self._target, f"{progress.rows:,} of {total:,} rows")
        return progress

    def _take(
        self, rows: Iterator[StoredRow], keys: int, progress: _Progress
    ) -> Sequence[StoredRow]:
        """The rows of the next commit; none at the end."""
        taken: list[StoredRow] = []
        size = 0
        for read in rows:
            row = read[keys:]
            if not self._target.keeps_nul and any(map(_has_nul, row)):
                progress.replaced += sum(map(_has_nul, row))
                row = tuple(map(_without_nul, row))
            size += progress.add(row)
            taken.append(row)
            progress.after = read[:keys]
            if len(taken) >= MOST_ROWS or size >= MOST_BYTES:
                break
        return taken

    def _compare(self, table: str, columns: Sequence[str], copied: _Progress) -> None:
        """Read the copy's rows. Raises StoreError where they are others."""
        found = _Progress()
        with closing(self._target.read(table, columns)) as rows:
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


def _shared(source: Tables, target: Tables) -> Mapping[str, Sequence[str]]:
    """The columns to copy of each table.

    Raises StoreError where the databases have others.
    """
    theirs, ours = source.columns(), target.columns()
    shared: dict[str, Sequence[str]] = {}
    for table in sorted({*theirs, *ours}.difference(DERIVED)):
        there, here = {*theirs.get(table, ())}, {*ours.get(table, ())}
        if odd := sorted((there ^ here) - {ROW_NUMBER}):
            raise StoreError(f"Only one of the stores has {odd[0]!r} in {table!r}.")
        shared[table] = sorted((there & here) - {*DERIVED_COLUMNS.get(table, ())})
    return shared


def _differs(table: str, target: Tables, found: str) -> StoreError:
    return StoreError(
        f"The copy of the table {table!r} in {target.name} is not equal: it has {found}. Remove the"
        " copy and begin anew; `parley store check` says whether the store itself is damaged."
    )


def _has_nul(each: Any) -> bool:
    return isinstance(each, str) and _NUL in each


def _without_nul(each: Any) -> Any:
    return each.replace(_NUL, _VISIBLE_NUL) if isinstance(each, str) else each
