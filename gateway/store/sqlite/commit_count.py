"""The count of commits beside the database, which shows lost ones.

SQLite reads its write-ahead log up to the first byte that is wrong, and forgets what was committed
after it. So each transaction counts itself in the database, and in a small file once it is there.
The file may be behind after a power cut, never ahead: it is written after the commit, and synced
only at the beginning. A database that is behind it has lost commits.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, cast

from gateway.base.describe import describe
from gateway.store.connection import Connection
from gateway.values import value

LOG = logging.getLogger("gateway.store")

NAME = "commits"

CountState: TypeAlias = Literal["open", "closed"]
"""An owner has it or ended without closing it; it was closed."""

_NOTE = re.compile(r"(\d{20}) (open|closed) *\n")


@value
class CommitNote:
    """The content of the file."""

    commits: int
    state: CountState


def read_note(folder: Path) -> CommitNote | None:
    """The note of the store in `folder`; None without a readable one."""
    try:
        found = _NOTE.fullmatch((folder / NAME).read_text("ascii"))
    except (OSError, ValueError):
        return None
    return found and CommitNote(commits=int(found[1]), state=cast("CountState", found[2]))


def write_note(folder: Path, commits: int, state: CountState) -> None:
    """Write the note, so that it is on disk. Raises OSError."""
    handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _write(handle, commits, state)
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, commits: int, state: CountState) -> None:
    # Always as long, in one sector: it is the old note or the new one.
    os.pwrite(handle, f"{commits:020d} {state:8}\n".encode(), 0)


class CommitCount:
    """The count of an owner's commits. `clock` is the time of day."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._commits = 0
        self._handle: int | None = None

    def begin(self, commits: int) -> None:
        """Count from here, as the owner. Raises OSError."""
        write_note(self._folder, commits, "open")
        self._commits = commits
        self._handle = os.open(self._folder / NAME, os.O_RDWR | os.O_CLOEXEC)

    def add(self, connection: Connection) -> None:
        """Count a transaction in itself, as the last thing that it does."""
        connection.execute(
            "UPDATE commits SET n = :n, at = :now WHERE rowid = 1",
            {"n": self._commits + 1, "now": self._clock()},
        )

    def note(self) -> None:
        """Note that the transaction is committed."""
        self._commits += 1
        self._put("open")

    def close(self) -> None:
        """Note that everything is in the database."""
        self._put("closed")

    def release(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _put(self, state: CountState) -> None:
        if self._handle is None:
            return
        try:
            _write(self._handle, self._commits, state)
        except OSError as error:
            # What is committed stays so; the note is only behind from now on.
            why = describe(error)
            LOG.warning("the count of commits can't be kept, so lost ones go unnoticed: %s", why)
            self.release()
