"""Files that agents made, read from the thread's own folder alone."""

from __future__ import annotations

from pathlib import Path

from gateway.errors import GatewayError
from teams.safe_files import UnsafePathError, read_file


class ForeignFile(GatewayError):
    """The path is no ordinary file in the folder, or too large."""


def read_own_file(folder: Path, path: str, *, longest: int) -> bytes:
    """Contents of a file below `folder`, at most `longest` bytes. Raises ForeignFile.

    Links are resolved first; between that and reading, none is followed.
    """
    try:
        root = folder.resolve(strict=True)
        inside = (root / path).resolve(strict=True).relative_to(root)
        return read_file(root, str(inside), longest=longest)
    except UnsafePathError as error:
        raise ForeignFile(str(error)) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise ForeignFile(f"There is no file {path!r} in the thread's folder.") from error
