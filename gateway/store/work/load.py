"""A new working copy, made of stored entries and an old copy."""

from __future__ import annotations

import os
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from gateway.errors import StoreCorrupt
from gateway.store.work.entries import ContentTooLarge, Entry, hash_of, whole
from gateway.store.work.handles import (
    FOLDER,
    above,
    file_to_read,
    make_folder,
    new_file,
    opened,
)

CLOCK = 0.02
"""Seconds by which the time of a change in a file system may be behind the clock."""


Read: TypeAlias = Callable[[Mapping[str, int]], Iterable[tuple[str, bytes]]]
"""Reads contents by their hashes, with their sizes, as far as they are stored."""


def write_copy(read: Read, entries: Mapping[str, Entry], new: Path, old: Path | None) -> None:
    """Make the folder `new` of stored entries.

    Raises StoreCorrupt for other contents than were stored, and OSError.
    """
    new.mkdir(0o700)
    with opened(new) as root:
        for path, entry in sorted(entries.items()):
            if entry.is_folder:
                with above(root, path, make=True) as (place, name):
                    make_folder(place, name)
        wanted = {path: each for path, each in entries.items() if not each.is_folder}
        if old is not None:
            with opened(old) as source:
                kept = [path for path, each in wanted.items() if _reuse(source, root, path, each)]
            for path in kept:
                del wanted[path]
        _write_stored(read, root, wanted)
        # What lies in a folder comes first: its own mode may forbid to go there.
        for path, entry in sorted(entries.items(), reverse=True):
            _finish(root, path, entry)


def refresh(folder: Path, paths: Sequence[str]) -> None:
    """Let files count as changed from now on."""
    if paths:
        time.sleep(CLOCK)
    with opened(folder) as root:
        for path in paths:
            with suppress(OSError), file_to_read(root, path) as file:
                os.fchmod(file, stat.S_IMODE(os.fstat(file).st_mode))


def move_entries(source: Path, target: Path, paths: Iterable[str]) -> None:
    """Move entries to another folder, unless something of their name is there."""
    with opened(source) as old, opened(target) as new:
        for path in paths:
            with suppress(OSError, StoreCorrupt):  # gone, or in the way of what is stored
                _move(old, new, path)


def _move(old: int, new: int, path: str) -> None:
    with above(old, path) as (place, name), above(new, path, make=True) as (target, _):
        try:
            os.stat(name, dir_fd=target, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, name, src_dir_fd=place, dst_dir_fd=target)


def _reuse(source: int, root: int, path: str, entry: Entry) -> bool:
    """Copy a file of the old copy, if it is the same."""
    data = None
    with suppress(OSError, ContentTooLarge), file_to_read(source, path) as file:
        data = whole(file, entry.size) if os.fstat(file).st_size == entry.size else None
    if data is None or entry.is_link or hash_of(data) != entry.sha256:
        return False
    _put(root, path, entry, data)
    return True


def _write_stored(read: Read, root: int, wanted: Mapping[str, Entry]) -> None:
    """Write files and links with their stored contents."""
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for path, entry in sorted(wanted.items()):
        paths[entry.sha256].append(path)
    sizes = {sha256: wanted[some[0]].size for sha256, some in paths.items() if sha256}
    for sha256, data in chain([("", b"")], read(sizes)):
        if hash_of(data) != sha256:
            raise _damaged(sha256)
        for path in paths.pop(sha256, ()):
            _put(root, path, wanted[path], data)
    if paths:
        raise _damaged(min(paths))


def _put(root: int, path: str, entry: Entry, data: bytes) -> None:
    """Make a link, or a file without its mode."""
    if entry.is_link:
        with above(root, path, make=True) as (place, name):
            os.symlink(data, os.fsencode(name), dir_fd=place)
        return
    with new_file(root, path) as file:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]


def _finish(root: int, path: str, entry: Entry) -> None:
    """Set the mode of an entry, and a file's time."""
    if entry.is_folder:
        with above(root, path) as (place, name):
            handle = os.open(name, FOLDER, dir_fd=place)
        try:
            os.fchmod(handle, entry.mode & 0o777)
        finally:
            os.close(handle)
    elif not entry.is_link:
        with file_to_read(root, path) as file:
            os.fchmod(file, entry.mode & 0o777)
            os.utime(file, ns=(entry.changed, entry.changed))


def _damaged(sha256: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"The store is damaged: a file's contents {sha256[:12]} are not what was stored. "
        "A backup of the database has them."
    )
