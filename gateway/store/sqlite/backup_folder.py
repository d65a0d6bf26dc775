"""The folder of the backups that a store's owner makes by itself."""

from __future__ import annotations

import logging
import os
import re
import stat
import struct
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gateway.base.clock import JUMP
from gateway.base.describe import describe
from gateway.store.sqlite.backup import lacking_space
from gateway.store.sqlite.migrate import APPLICATION_ID
from gateway.values import value

LOG = logging.getLogger("gateway.store")

ID_FILE = "backup-id"
"""Name of the file beside the store that tells its backups from those of others."""

_ID = re.compile(r"[0-9a-f]{8}")
_TIME = "%Y%m%dT%H%M%SZ"
_MAGIC, _APPLICATION = b"SQLite format 3\0", struct.Struct(">I")
_APPLICATION_AT = 68
"""Where a database's header has its application id (sqlite.org/fileformat)."""


@value
class Backup:
    """A good backup: it was checked before it got its name."""

    path: Path
    at: float
    """When it was begun; seconds since the epoch."""
    size: int


class BackupFolder:
    """Backups in `folder` of the database `store`; its methods block.

    What was not made for this store is neither counted nor deleted: another name or id, a link, or
    no database of Parley's. Raises OSError.
    """

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder = folder
        self._id = _own_id(store.parent)
        self._name = re.compile(rf"parley-{self._id}-(\d{{8}}T\d{{6}}Z)\.db")

    def path_at(self, now: float) -> Path:
        """Path of a backup that is begun now."""
        return self._folder / f"parley-{self._id}-{datetime.fromtimestamp(now, UTC):{_TIME}}.db"

    def good(self, now: float) -> list[Backup]:
        """Good backups, the newest first.

        Those that a wrong clock has dated ahead are left alone.
        """
        paths = self._folder.iterdir() if self._folder.is_dir() else ()
        found = [each for path in paths if (each := self._backup(path))]
        known = (each for each in found if each.at <= now + JUMP)
        return sorted(known, key=lambda each: each.at, reverse=True)

    def _backup(self, path: Path) -> Backup | None:
        named = self._name.fullmatch(path.name)
        if named is None or not stat.S_ISREG((status := path.lstat()).st_mode):
            return None
        with path.open("rb") as file:
            header = file.read(_APPLICATION_AT + _APPLICATION.size)
        if not header.startswith(_MAGIC) or not header.endswith(_APPLICATION.pack(APPLICATION_ID)):
            return None
        try:
            at = datetime.strptime(named[1], _TIME).replace(tzinfo=UTC).timestamp()
        except ValueError:
            return None
        return Backup(path=path, at=at, size=status.st_size)

    def delete(self, old: Sequence[Backup]) -> None:
        """Delete backups."""
        for backup in old:
            backup.path.unlink(missing_ok=True)
            LOG.info("deleted the old backup %s", backup.path)

    def clear(self) -> None:
        """Delete the remains of backups that were cut short by a crash."""
        for part in self._folder.glob(f".parley-{self._id}-*.db.*.part*"):
            part.unlink(missing_ok=True)
            LOG.info("deleted %s, which a crash has left", part)


def _own_id(store: Path) -> str:
    """The id of backups of this store, made when first asked for."""
    note = store / ID_FILE
    with suppress(OSError, ValueError):
        if _ID.fullmatch(found := note.read_text("ascii")):
            return found
    handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "w", encoding="ascii") as file:
        file.write(made := os.urandom(4).hex())
    return made


def folder_problem(folder: Path, store: Path) -> str:
    """Reason why no backup can be written there, or ""."""
    if not folder.is_dir():
        return (
            f"there is no folder {folder}; mount its disk, or create it with `mkdir -m 700` for"
            " Parley's user"
        )
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        reason = lacking_space(store, folder) if store.exists() else ""
    except OSError as error:
        why = error.strerror or describe(error)
        return f"cannot write in {folder}: {why}; choose a folder of Parley's user"
    return reason and f"a backup does not fit in {folder}: {reason}; make space, or keep fewer"


def folder_warning(folder: Path, store: Path) -> str:
    """Risk for backups in this folder, or ""."""
    if not folder.is_dir():
        return ""
    status = folder.stat()
    if status.st_mode & 0o022:
        return f"others than Parley's user can write in {folder}, and so delete backups; chmod 700"
    while not store.exists():
        store = store.parent
    if status.st_dev == store.stat().st_dev:
        return f"{folder} is on the same disk as the store: a broken disk takes both"
    return ""
