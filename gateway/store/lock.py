"""One owner per store: a lock file that says who it is."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.errors import StoreFull, StoreInUse, StoreUnwritable

NAME = "lock"


class StoreLock:
    """Lock of the process that owns the folder, until it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Raises StoreInUse, which names the owner."""
        # Never inherited by a tool's subprocess, which would hold the lock after us.
        descriptor = os.open(self._folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise StoreInUse(self._folder, owner(self._folder)) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock but keep its file.

        Without the file, two processes could lock two files of that name.
        """
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def make_private(folder: Path) -> None:
    """Make a folder of its owner's alone. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


@contextmanager
def file_errors(folder: Path) -> Generator[None]:
    """Raise the gateway's errors for those of a store's files."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFull from error
        text = f"The store {str(folder)!r} can't be written: {error.strerror}."
        raise StoreUnwritable(text) from error


def try_files(folder: Path, *names: str) -> None:
    """Open the lock and these files to write. Raises OSError."""
    if not folder.exists():
        return
    if os.geteuid() not in (0, folder.stat().st_uid):  # its mode can't be set
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    for name in (NAME, *names):
        with suppress(FileNotFoundError):
            os.close(os.open(folder / name, os.O_RDWR | os.O_CLOEXEC))


def owner(folder: Path) -> int | None:
    """The pid that the lock file names, None if it names none."""
    try:
        return int((folder / NAME).read_text("ascii"))
    except (OSError, ValueError):
        return None
