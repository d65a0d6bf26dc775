"""Stored entries of a work folder, and contents of changed ones."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile

from gateway.errors import StoreFull, StoreUnwritable
from gateway.store.postgres.contents import PART
from gateway.values import value

IN_MEMORY = 4 * PART
"""Bytes of changed files that are held in memory; more of them lie on the disk."""


@value
class Entry:
    """A file, a folder or a link."""

    mode: int
    """Its kind and permissions, as in `st_mode`."""
    size: int = 0
    changed: int = 0
    """`st_mtime` of a file in nanoseconds."""
    sha256: str = ""
    """Hash of a file's contents, or of a link's target; "" without contents."""

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        """True for a symbolic link."""
        return stat.S_ISLNK(self.mode)


class ContentTooLarge(Exception):
    """A file that has grown beyond its limit."""


class Spool:
    """Contents of changed files, as they were when they were hashed.

    A transaction that is tried again sends the same bytes, whatever happens to the files meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self._file = SpooledTemporaryFile[bytes](IN_MEMORY, dir=str(folder))
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def __del__(self) -> None:
        self._file.close()  # a unit may use it longer than its caller waits

    def take_file(self, file: int, longest: int) -> tuple[str, int]:
        """Copy an open file; hash and size.

        Raises ContentTooLarge, OSError where it can't be read, StoreFull or StoreUnwritable.
        """
        digest, size = hashlib.sha256(), 0
        self._file.seek(self._end)
        while data := os.read(file, PART):
            size += len(data)
            if size > longest:
                raise ContentTooLarge
            digest.update(data)
            self._write(data)
        return self._keep(digest.hexdigest(), size), size

    def take(self, data: bytes) -> str:
        """Take a content that is in memory; its hash."""
        self._file.seek(self._end)
        self._write(data)
        return self._keep(hashlib.sha256(data).hexdigest(), len(data))

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise StoreFull from error
            reason = f"No copy of a work folder's files can be written: {error.strerror}."
            raise StoreUnwritable(reason) from error

    def _keep(self, sha256: str, size: int) -> str:
        """Keep what was written last, unless it is there already."""
        if not size:
            return ""
        if sha256 not in self._places:
            self._places[sha256] = (self._end, size)
            self._end += size
        return sha256

    @property
    def sizes(self) -> Mapping[str, int]:
        """Sizes of the contents by their hashes."""
        return {sha256: size for sha256, (_, size) in self._places.items()}

    def parts(self, sha256: str) -> Iterator[bytes]:
        """The parts of a content."""
        start, size = self._places[sha256]
        for offset in range(start, start + size, PART):
            self._file.seek(offset)
            yield self._file.read(min(PART, start + size - offset))
