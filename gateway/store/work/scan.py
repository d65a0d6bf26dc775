"""Differences between a work folder and its stored entries.

Only changed files are read. Code that works in the folder is not trusted: no link is followed, and
depth, number and size of entries have limits. Whatever is left out is named with a reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from pathlib import Path

from gateway.base.describe import describe
from gateway.store.work.contents import WorkLimits
from gateway.store.work.entries import Contents, ContentTooLarge, Entry, whole
from gateway.store.work.handles import FOLDER, file_to_read, opened
from gateway.values import value

MB = 1_000_000
ENTRIES = 20_000
"""Entries of a folder that are stored; the rest stays on the machine."""
DEPTH = 64
"""Folders within each other."""
LONGEST_PATH = 1000
"""Bytes of a path: the database's index takes no long ones."""

KINDS = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)


@value
class FolderDiff:
    """Changes of a folder since it was stored."""

    entries: Mapping[str, Entry]
    """All entries that are stored from then on, by their paths."""
    put: Mapping[str, Entry]
    """New and changed entries."""
    removed: tuple[str, ...]
    left_out: Mapping[str, str]
    """Paths of what is not stored, each with the reason."""
    spool: Contents = field(repr=False)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to store."""
        return not self.put and not self.removed


def find_changes(
    folder: Path, known: Mapping[str, Entry], since: int, limits: WorkLimits, spool: Contents
) -> FolderDiff:
    """Changes of a folder, compared with the `known` entries.

    All changes before `since` are known; that is a time of the file system in nanoseconds. Contents
    of changed files go to the spool. Raises OSError if the folder can't be read, StoreFull or
    StoreUnwritable.
    """
    entries, left_out = dict[str, Entry](), dict[str, str]()
    with suppress(FileNotFoundError), opened(folder) as root:
        walk = _Walk(root, known, since, limits, spool)
        walk.look(root, "", 1)
        entries, left_out = dict(walk.entries()), walk.left_out
    return FolderDiff(
        entries=entries,
        put={path: each for path, each in entries.items() if each != known.get(path)},
        removed=tuple(path for path in known if path not in entries),
        left_out=left_out,
        spool=spool,
    )


class _Walk:
    """Entries below a folder, with what of them is left out."""

    def __init__(
        self, root: int, known: Mapping[str, Entry], since: int, limits: WorkLimits, spool: Contents
    ) -> None:
        self._root = root
        self._known = known
        self._since = since
        self._spool = spool
        self._limits = limits
        self._longest = int(limits.file_mb * MB)
        self._found: dict[str, os.stat_result] = {}
        self._targets: dict[str, bytes] = {}
        self._seen = 0
        self.left_out: dict[str, str] = {}

    def look(self, place: int, below: str, depth: int) -> None:
        """Look through an open folder, and those in it."""
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in islice(entries, ENTRIES + 1 - self._seen))
        for name in names:
            path = below + name
            self._seen += 1
            if self._seen > ENTRIES:
                self.left_out[path] = f"there are more than {ENTRIES:,} entries"
                return
            try:
                self._take(place, name, path, depth)
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone, or another one by now
            except OSError as error:
                self.left_out[path] = _unreadable(error)

    def _take(self, place: int, name: str, path: str, depth: int) -> None:
        found = os.stat(name, dir_fd=place, follow_symlinks=False)
        if reason := self._unfit(path, found, depth):
            self.left_out[path] = reason
            return
        if stat.S_ISLNK(found.st_mode):
            self._targets[path] = os.fsencode(os.readlink(name, dir_fd=place))
        elif stat.S_ISDIR(found.st_mode):
            inner = os.open(name, FOLDER, dir_fd=place)
            try:
                self.look(inner, f"{path}/", depth + 1)
            finally:
                os.close(inner)
        self._found[path] = found

    def _unfit(self, path: str, found: os.stat_result, depth: int) -> str:
        """The reason why an entry can't be stored, or ""."""
        try:
            length = len(path.encode())
        except UnicodeEncodeError:
            return "its name is not UTF-8"
        if length > LONGEST_PATH:
            return f"its path is longer than {LONGEST_PATH} bytes"
        if not any(is_kind(found.st_mode) for is_kind in KINDS):
            return "it is neither a file nor a folder"
        if stat.S_ISDIR(found.st_mode):
            return f"it lies below {DEPTH} folders" if depth > DEPTH else ""
        if stat.S_ISREG(found.st_mode) and found.st_nlink != 1:
            return "it has a second name"
        return self._too_large() if found.st_size > self._longest else ""

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Entries within the folder's limit: stored ones first, then small ones."""
        left, limit = int(self._limits.work_mb * MB), f"{self._limits.work_mb:g} MB"
        chosen: dict[str, os.stat_result] = {}
        for path, found in sorted(
            self._found.items(),
            key=lambda each: (each[0] not in self._known, each[1].st_size, each[0]),
        ):
            size = found.st_size if stat.S_ISREG(found.st_mode) else 0
            if size > left:
                self.left_out[path] = f"the folder is larger than {limit}"
                continue
            left -= size
            chosen[path] = found
        for path, found in sorted(chosen.items()):
            if (entry := self._entry(path, found)) is not None:
                yield path, entry

    def _entry(self, path: str, found: os.stat_result) -> Entry | None:
        mode = stat.S_IFMT(found.st_mode) | (found.st_mode & 0o777)
        if stat.S_ISDIR(mode):
            return Entry(mode=mode)
        if stat.S_ISLNK(mode):
            target = self._targets[path]
            return Entry(mode=mode, size=len(target), sha256=self._spool.take(target))
        known = self._known.get(path)
        if known is not None and _is_as_known(found, known, self._since):
            return known if known.mode == mode else replace(known, mode=mode)
        return self._read(path, mode)

    def _read(self, path: str, mode: int) -> Entry | None:
        """The entry of a file, spooled; None if it can't be."""
        try:
            with file_to_read(self._root, path) as file:
                changed = os.fstat(file).st_mtime_ns
                data = whole(file, self._longest)
        except FileNotFoundError:
            return None
        except ContentTooLarge:
            self.left_out[path] = self._too_large()
        except OSError as error:
            self.left_out[path] = _unreadable(error)
        else:
            sha256 = self._spool.take(data)
            return Entry(mode=mode, size=len(data), changed=changed, sha256=sha256)
        return None

    def _too_large(self) -> str:
        return f"it is larger than {self._limits.file_mb:g} MB"


def _is_as_known(found: os.stat_result, known: Entry, since: int) -> bool:
    """True if a file was not touched since it became known."""
    return (
        stat.S_ISREG(known.mode)
        and found.st_size == known.size
        and found.st_mtime_ns == known.changed
        and found.st_ctime_ns < since
    )


def _unreadable(error: OSError) -> str:
    return f"it can't be read ({error.strerror or describe(error)})"
