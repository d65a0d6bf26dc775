"""Steps in a folder that untrusted code shares, by open handles.

That code may swap any entry for a link at any moment; no step here follows one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gateway.errors import StoreCorrupt

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_folder(path: Path) -> bool:
    """True for a folder that is no link."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


@contextmanager
def opened(folder: Path) -> Generator[int]:
    """Handle of a folder. Raises OSError."""
    place = os.open(folder, FOLDER)
    try:
        yield place
    finally:
        os.close(place)


@contextmanager
def above(root: int, path: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """Handle of the folder that holds `path`, and the entry's name.

    `make`: missing folders are made. Raises OSError, StoreCorrupt for a path that leads out.
    """
    *steps, name = path.split("/")
    if not {"", ".", ".."}.isdisjoint([*steps, name]) or "\0" in path:
        raise StoreCorrupt(f"The store is damaged: {path!r} is no path in a work folder.")
    place = os.dup(root)
    try:
        for step in steps:
            if make:
                make_folder(place, step)
            inner = os.open(step, FOLDER, dir_fd=place)
            os.close(place)
            place = inner
        yield place, name
    finally:
        os.close(place)


def make_folder(place: int, name: str) -> None:
    """Make a folder, unless something of its name is there."""
    try:
        os.mkdir(name, 0o700, dir_fd=place)
    except FileExistsError:
        return


@contextmanager
def file_to_read(root: int, path: str) -> Generator[int]:
    """Handle of an ordinary file with one name. Raises OSError."""
    with above(root, path) as (place, name):
        file = os.open(name, _READ, dir_fd=place)
    try:
        found = os.fstat(file)
        # A second name may be that of a file elsewhere.
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise PermissionError(f"{path!r} is not an ordinary file of its own.")
        yield file
    finally:
        os.close(file)


@contextmanager
def new_file(root: int, path: str) -> Generator[int]:
    """Handle of a file that was not there; its folders are made.

    Raises OSError.
    """
    with above(root, path, make=True) as (place, name):
        file = os.open(name, _MAKE, 0o600, dir_fd=place)
    try:
        yield file
    finally:
        os.close(file)
