"""Contents of work folders, as files beside the database.

A thread has one of each content. Large files stay out of the database, its log and its backups, and
no other write waits for them.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from gateway.base.paths import make_private
from gateway.store.connection import Connection
from gateway.store.lock import file_errors
from gateway.store.units.threads import thread_ids
from gateway.store.work.entries import Contents, hash_of
from gateway.store.work.rows import hashes


class ContentFiles:
    """A WorkContents in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def taken(self, thread: str) -> TakenFiles:
        """Where contents go while a thread's folder is looked through."""
        return TakenFiles(self._folder / thread)

    def store(self, connection: Connection, taken: Contents, hashes: Collection[str]) -> None:
        """Do nothing: they are there already."""

    def read(
        self, connection: Connection, thread: str, sizes: Mapping[str, int]
    ) -> Iterator[tuple[str, bytes]]:
        """Contents with their hashes, as far as they are there."""
        for sha256 in sizes:
            with suppress(FileNotFoundError):
                yield sha256, (self._folder / thread / sha256).read_bytes()

    def drop(self, connection: Connection, thread: str) -> None:
        """Remove the files that no version of the thread's folder names."""
        folder = self._folder / thread
        if folder.is_dir():
            named = hashes(connection, thread)
            for file in [*folder.iterdir()]:
                if file.name not in named:
                    file.unlink(missing_ok=True)

    def forget(self, thread: str) -> None:
        """Remove what belongs to a thread that was deleted."""
        shutil.rmtree(self._folder / thread, ignore_errors=True)

    def sweep(self, connection: Connection) -> None:
        """Remove what a crash has left that nothing names."""
        threads = set(thread_ids(connection))
        for folder in [*self._folder.iterdir()] if self._folder.is_dir() else ():
            if folder.name in threads:
                self.drop(connection, folder.name)
            else:
                self.forget(folder.name)


class TakenFiles:
    """Contents that are written as they are taken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.sizes: dict[str, int] = {}
        """Sizes of the contents by their hashes."""

    def take(self, data: bytes) -> str:
        """Take a content; its hash. Raises StoreFull or StoreUnwritable."""
        sha256 = hash_of(data)
        if sha256 and sha256 not in self.sizes:
            with file_errors(self._folder.parent):
                self._write(self._folder / sha256, data)
            self.sizes[sha256] = len(data)
        return sha256

    def _write(self, file: Path, data: bytes) -> None:
        # A machine that went down may have left another content under this name.
        with suppress(FileNotFoundError):
            if file.read_bytes() == data:
                return
        make_private(self._folder)
        part = file.with_name(f".{uuid4().hex}")
        try:
            part.touch(0o600)
            part.write_bytes(data)
            part.replace(file)
        except OSError:
            part.unlink(missing_ok=True)
            raise
