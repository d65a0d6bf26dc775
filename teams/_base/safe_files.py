"""Files of a folder whose other users are not trusted.

Code that was let into the folder may swap its entries for links at any moment. So each step of a
path is opened relative to the folder before it, by handle, and no step follows a link. POSIX only.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import BinaryIO
from uuid import uuid4

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class UnsafePathError(ValueError):
    """A path out of its folder or through a link."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """An ordinary file found below a folder."""

    path: str
    """Relative to the folder."""
    size: int
    """In bytes."""
    changed: int
    """`st_ctime` in nanoseconds since the epoch."""


def read_file(folder: Path, path: str, *, longest: int) -> bytes:
    """The contents of an ordinary file below the folder.

    Raises as `open_file`, and UnsafePathError for more than `longest` bytes.
    """
    with open_file(folder, path) as opened:
        data = opened.read(longest + 1)
    if len(data) > longest:
        raise UnsafePathError(f"{path!r} is larger than {longest} bytes.")
    return data


@contextmanager
def open_file(folder: Path, path: str) -> Generator[BinaryIO]:
    """An ordinary file below the folder, opened to read.

    Raises UnsafePathError, also for a file with a second name, and OSError where there is none.
    """
    *above, name = _parts(folder, path)
    with _opened(folder, above) as place:
        try:
            file = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place
            )
        except OSError as error:
            raise _unsafe(error, path) from error
    try:
        found = os.fstat(file)
        # A second name may be that of a file elsewhere.
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise UnsafePathError(f"{path!r} is not an ordinary file of its own.")
        with open(file, "rb", closefd=False) as opened:
            yield opened
    finally:
        os.close(file)


def list_folder(folder: Path, path: str = ".", *, most: int) -> list[FileFacts]:
    """Entries of a folder, sorted, of the first `most`.

    Folders' names end with "/", without a size; links are left out. Raises UnsafePathError, also
    for a file, and OSError where there is nothing.
    """
    with _opened(folder, _steps(folder, path)) as place, os.scandir(place) as entries:
        found = [_entry(entry) for entry in islice(entries, most)]
    return sorted(filter(None, found), key=lambda each: each.path)


def _entry(entry: os.DirEntry[str]) -> FileFacts | None:
    folders: list[str] = []
    facts = _facts(entry, entry.name, folders)
    return FileFacts(f"{entry.name}/", 0, 0) if folders else facts


def write_file(folder: Path, path: str, data: bytes) -> None:
    """Put a file in the folder, and the folders above it.

    A file, or a link, that stands there is replaced at once and as a whole. Raises
    UnsafePathError, and OSError where the file system refuses.
    """
    *above, name = _parts(folder, path)
    with _opened(folder, above, create=True) as place:
        part = f".{uuid4().hex}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o666, dir_fd=place), "wb") as opened:
            opened.write(data)
        try:
            os.replace(part, name, src_dir_fd=place, dst_dir_fd=place)
        except OSError:
            os.unlink(part, dir_fd=place)
            raise


def remove_file(folder: Path, path: str) -> None:
    """Remove a file or a link, if there.

    Raises as `write_file`.
    """
    *above, name = _parts(folder, path)
    try:
        with _opened(folder, above) as place:
            os.unlink(name, dir_fd=place)
    except FileNotFoundError:
        return


def walk_files(
    folder: Path, *, most: int, skip: Callable[[str], object] | None = None
) -> Iterator[FileFacts]:
    """Ordinary files below the folder, of the first `most` entries.

    Links are not followed, and entries that go meanwhile are left out, as are those, with all
    below them, whose name `skip` accepts. Raises OSError where there is no folder.
    """
    seen, waiting = 0, [""]
    with _opened(folder, ()) as root:
        while waiting:
            below = waiting.pop()
            for entry in _entries(root, below):
                seen += 1
                if seen > most:
                    return
                if skip is not None and skip(entry.name):
                    continue
                path = f"{below}/{entry.name}" if below else entry.name
                if (found := _facts(entry, path, waiting)) is not None:
                    yield found


def folder_size(folder: Path, *, most: int) -> int:
    """Bytes of the files that `walk_files` finds."""
    return sum(found.size for found in walk_files(folder, most=most))


def _entries(root: int, below: str) -> Iterator[os.DirEntry[str]]:
    try:
        place = _descend(os.dup(root), PurePath(below).parts, create=False, path=below)
    except (UnsafePathError, OSError):  # gone, or a link by now
        return
    try:
        with os.scandir(place) as entries:
            yield from entries
    finally:
        os.close(place)


def _facts(entry: os.DirEntry[str], path: str, waiting: list[str]) -> FileFacts | None:
    try:
        if entry.is_dir(follow_symlinks=False):
            waiting.append(path)
        elif entry.is_file(follow_symlinks=False):
            found = entry.stat(follow_symlinks=False)
            return FileFacts(path, found.st_size, found.st_ctime_ns)
    except FileNotFoundError:
        pass
    return None


def _parts(folder: Path, path: str) -> list[str]:
    """The steps from the folder to the path, at least one."""
    if not (parts := _steps(folder, path)):
        raise UnsafePathError(f"{path!r} is not a file in the folder.")
    return parts


def _steps(folder: Path, path: str) -> list[str]:
    steps = os.path.normpath(path)
    if os.path.isabs(steps):
        steps = os.path.relpath(steps, folder)
    parts = list(PurePath(steps).parts)
    if parts[:1] == [".."] or "\0" in path:
        raise UnsafePathError(f"{path!r} is not in the folder.")
    return parts


@contextmanager
def _opened(folder: Path, parts: Sequence[str], *, create: bool = False) -> Generator[int]:
    place = _descend(os.open(folder, _FOLDER), parts, create=create, path="/".join(parts))
    try:
        yield place
    finally:
        os.close(place)


def _descend(place: int, parts: Sequence[str], *, create: bool, path: str) -> int:
    """The handle of a folder below `place`, which is closed."""
    for part in parts:
        try:
            if create:
                _make_folder(part, place)
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=place)
        except OSError as error:
            failure = _unsafe(error, path)
            os.close(place)
            raise failure from error
        os.close(place)
        place = inner
    return place


def _make_folder(name: str, place: int) -> None:
    try:
        os.mkdir(name, dir_fd=place)
    except FileExistsError:
        return


def _unsafe(error: OSError, path: str) -> Exception:
    """UnsafePathError for a link in the way, else the system's own error."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return UnsafePathError(f"{path!r} leads through a link, or through what is no folder.")
    return error
