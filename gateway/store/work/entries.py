"""Stored entries of a work folder, and contents of changed ones."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Protocol

from gateway.store.lock import file_errors
from gateway.values import value

PART = 1 << 20
"""Bytes that are read of a file at once."""
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


def whole(file: int, longest: int) -> bytes:
    """The bytes of an open file. Raises ContentTooLarge, and OSError."""
    data = bytearray()
    while part := os.read(file, PART):
        data += part
        if len(data) > longest:
            raise ContentTooLarge
    return bytes(data)


def hash_of(data: bytes) -> str:
    """The hash by which a content is stored; "" of none."""
    return hashlib.sha256(data).hexdigest() if data else ""


class Contents(Protocol):
    """Contents of changed files, as they were when they were hashed."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Sizes of the contents by their hashes."""
        ...

    def take(self, data: bytes) -> str:
        """Take a content; its hash. Raises StoreFull or StoreUnwritable."""
        ...


class Spool:
    """Contents of changed files, as they were when they were hashed.

    A transaction that is tried again sends the same bytes, whatever happens to the files meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = SpooledTemporaryFile[bytes](IN_MEMORY, dir=str(folder))
        self._ends: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        """Sizes of the contents by their hashes."""

    def __del__(self) -> None:
        self._file.close()  # a unit may use it longer than its caller waits

    def take(self, data: bytes) -> str:
        """Take a content; its hash. Raises StoreFull or StoreUnwritable."""
        sha256 = hash_of(data)
        if not sha256 or sha256 in self.sizes:
            return sha256
        with file_errors(self._folder):
            self._file.seek(0, os.SEEK_END)
            self._file.write(data)
        self._ends[sha256], self.sizes[sha256] = self._file.tell(), len(data)
        return sha256

    def content(self, sha256: str) -> bytes:
        """A content that was taken."""
        self._file.seek(self._ends[sha256] - self.sizes[sha256])
        return self._file.read(self.sizes[sha256])
