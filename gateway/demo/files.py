"""Text files of one folder, for an agent; hidden ones stay closed."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

LARGEST = 64 * 1024
"""Bytes a file may have."""


class NotReadable(ValueError):
    """A file that may not or can't be read."""


class Folder:
    """A folder with visible text files that may be read.

    `forbidden` are files and folders that stay closed wherever they are and by whatever name.
    """

    def __init__(self, root: Path, forbidden: Sequence[Path] = ()) -> None:
        self._root = root.resolve()
        self._forbidden = tuple(path.resolve() for path in forbidden)

    def read(self, path: str) -> str:
        """The text of the file at a path. Raises NotReadable."""
        try:
            place = self._allowed(path)
            return _text(place, path)
        except NotReadable:
            raise
        except FileNotFoundError:
            raise NotReadable(f"There is no file {path!r} in this folder.") from None
        except (OSError, ValueError, RuntimeError):  # no access, a null character, a loop of links
            raise NotReadable(f"{path!r} can't be read.") from None

    def _allowed(self, path: str) -> Path:
        """The file's place after all links; it need not exist."""
        named = self._root / path
        place = named.resolve()
        if not place.is_relative_to(self._root):
            raise NotReadable(f"{path!r} is outside of this folder.")
        if _hidden(place, self._root) or _hidden(named, self._root):
            raise NotReadable(f"{path!r} is hidden, and hidden files stay closed.")
        if any(place.is_relative_to(closed) or _same(place, closed) for closed in self._forbidden):
            raise NotReadable(f"{path!r} belongs to Parley itself and stays closed.")
        return place


def _hidden(place: Path, root: Path) -> bool:
    below = place.parts[len(root.parts) :] if place.is_relative_to(root) else ()
    return any(part.startswith(".") and part != ".." for part in below)


def _same(place: Path, other: Path) -> bool:
    """True for the same file under another name (a hard link)."""
    return place.exists() and other.exists() and place.samefile(other)


def _text(place: Path, path: str) -> str:
    # A link put there meanwhile is not followed, and a pipe does not hold us up.
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotReadable(f"{path!r} is no file.")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    finally:
        os.close(handle)
    if len(data) > LARGEST:
        raise NotReadable(f"{path!r} is larger than {LARGEST // 1024} KB.")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotReadable(f"{path!r} is no text file.") from None
    if "\0" in text:
        raise NotReadable(f"{path!r} is no text file.")
    return text
