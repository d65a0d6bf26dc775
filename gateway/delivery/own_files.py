"""Files that agents made, read from the thread's own folder alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gateway.errors import GatewayError


class ForeignFile(GatewayError):
    """The path is no ordinary file in the thread's folder.

    Or it is one of an unusual size.
    """


def read_own_file(folder: Path, path: str, *, longest: int) -> bytes:
    """Contents of a file below `folder`, at most `longest` bytes. Raises NotOwnFile.

    Links are resolved first; between that and reading, none is followed.
    """
    try:
        root = folder.resolve(strict=True)
        parts = (root / path).resolve(strict=True).relative_to(root).parts
        return _read(root, parts, path, longest)
    except (OSError, ValueError, RuntimeError) as error:
        raise ForeignFile(f"There is no file {path!r} in the thread's folder.") from error


def _read(root: Path, parts: tuple[str, ...], path: str, longest: int) -> bytes:
    place = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        name = parts[-1] if parts else "."
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    finally:
        os.close(place)
    found = os.fstat(file)
    # A second name may be that of a file elsewhere.
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(file)
        raise ForeignFile(f"{path!r} is not an ordinary file of the thread.")
    with os.fdopen(file, "rb") as opened:
        data = opened.read(longest + 1)
    if len(data) > longest:
        raise ForeignFile(f"{path!r} is larger than {longest} bytes.")
    return data
