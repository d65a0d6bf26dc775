"""The folder of the backups that a store's owner makes by itself."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gateway.base.clock import JUMP
from gateway.base.describe import describe
from gateway.errors import StoreUnwritable
from gateway.store.sqlite.backup import lacking_space
from gateway.store.sqlite.upgrade import APPLICATION_ID

ID_FILE = "backup-id"
"""Name of the file beside the store that tells its backups from those of others."""

TIME = "%Y%m%dT%H%M%SZ.db"
HEADER = b"SQLite format 3\0" + APPLICATION_ID.to_bytes(4, "big")
"""Bytes 0 to 15 and 68 to 71 of a store's database (sqlite.org/fileformat.html)."""


class Backup(NamedTuple):
    """A good backup: it was checked before it got its name."""

    at: float
    """When it was begun; seconds since the epoch."""
    size: int
    path: Path


class BackupFolder:
    """Backups in `folder` of the database `store`. Raises OSError.

    Other files are neither counted nor deleted: those with another name or id, links, and
    those that are no database of Parley's.
    """

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder = folder
        self._store = store
        note = store.with_name(ID_FILE)
        if not note.exists() or not note.stat().st_size:  # or cut short by a crash
            note.write_text(os.urandom(4).hex(), "ascii")
        own_id = re.sub(r"\W", "", note.read_text("ascii"))
        self._prefix = f"parley-{own_id}-"

    def rotate(self, keep: int, now: float) -> Backup | None:
        """Delete all good backups but the newest ones; the newest one.

        Those that a wrong clock has dated ahead are left alone.
        """
        found = filter(None, map(self._good, self._folder.glob(f"{self._prefix}*.db")))
        good = sorted((each for each in found if each.at <= now + JUMP), reverse=True)
        for old in good[keep:]:
            old.path.unlink(missing_ok=True)
        return good[0] if good else None

    def begin(self, now: float) -> Path:
        """Path of a backup that is begun now.

        Remains of crashes are removed. Raises StoreUnwritable.
        """
        if problem := folder_problem(self._folder, self._store):
            raise StoreUnwritable(problem)
        for part in self._folder.glob(f".{self._prefix}*.part*"):
            part.unlink(missing_ok=True)
        return self._folder / f"{datetime.fromtimestamp(now, UTC):{self._prefix}{TIME}}"

    def _good(self, path: Path) -> Backup | None:
        try:
            at = datetime.strptime(path.name, self._prefix + TIME).replace(tzinfo=UTC).timestamp()
        except ValueError:
            return None
        if not stat.S_ISREG((status := path.lstat()).st_mode):
            return None
        with path.open("rb") as file:
            header = file.read(72)
        return Backup(at, status.st_size, path) if header[:16] + header[68:] == HEADER else None


def folder_problem(folder: Path, store: Path) -> str:
    """Reason why no backup can be written there, or ""."""
    if not folder.is_dir():
        return f"there is no folder {folder}; mount its disk, or create it with `mkdir -m 700`"
    try:
        with tempfile.TemporaryFile(dir=folder):
            lacks = lacking_space(store, folder) if store.exists() else ""
    except OSError as error:
        return f"cannot write in {folder}: {describe(error)}; choose a folder of Parley's user"
    return lacks and f"a backup does not fit in {folder}: {lacks}; make space, or keep fewer"


def folder_warning(folder: Path, store: Path) -> str:
    """Risk for backups in this folder, or ""."""
    status = folder.stat()
    if status.st_mode & 0o022:
        return f"warning: others than Parley's user can delete backups in {folder}; chmod 700"
    while not store.exists():
        store = store.parent
    same = status.st_dev == store.stat().st_dev
    return f"warning: {folder} is on the store's disk: if it breaks, both are lost" if same else ""
