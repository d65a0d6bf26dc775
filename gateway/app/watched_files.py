"""Files that a config names, and their states."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

LARGEST = 16_000_000
"""Bytes from which on a file is not read: its size and time tell whether it has changed."""

_IMPORT_PATH = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_][\w.]*")
_STATE = frozenset(("backup", "logging", "store"))
"""Tables with places that Parley writes to itself."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file's time, size and number, with a digest of its content."""

    stamp: tuple[int, int, int]
    digest: str


States: TypeAlias = Mapping[Path, FileState | None]


def named_files(source: Path, text: str) -> frozenset[Path]:
    """The config at `source` with the files that it names.

    They are component files, those of `..._file`, texts among the options of a team from Python,
    and Python modules in its folder, there or not.
    """
    folder = source.absolute().parent
    try:
        data = tomllib.loads(text)
    except ValueError:
        data = {}
    tables = {name: table for name, table in data.items() if name not in _STATE}
    return frozenset((source.absolute(), *_named(tables, folder)))


def read_states(paths: Iterable[Path], before: States) -> States:
    """States of files; one that looks as before is not read."""
    return {path: _state(path, before.get(path)) for path in paths}


def _named(table: Mapping[str, Any], folder: Path, *, options: bool = False) -> Iterator[Path]:
    for key, value in table.items():
        for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                inner = cast("dict[str, Any]", each)
                yield from _named(inner, folder, options=options or key == "options")
            elif isinstance(each, str):
                yield from _in_text(key, each, folder, options=options)


def _in_text(key: str, text: str, folder: Path, *, options: bool) -> Iterator[Path]:
    if found := _IMPORT_PATH.fullmatch(text):
        module = folder.joinpath(*found["module"].split("."))
        yield from (path for path in (Path(f"{module}.py"), module / "__init__.py") if _is(path))
        if not module.is_dir():
            yield Path(f"{module}.py")
    elif key == "component" or key.endswith("_file"):
        yield folder / Path(text).expanduser()
    elif options and _is(folder / text):
        yield folder / text


def _is(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no path, but a long text
        return False


def _state(path: Path, before: FileState | None) -> FileState | None:
    try:
        now = path.stat()
        stamp = (now.st_mtime_ns, now.st_size, now.st_ino)
        if before is not None and before.stamp == stamp:
            return before
        if now.st_size > LARGEST:
            return FileState(stamp, str(stamp))
        return FileState(stamp, hashlib.sha256(path.read_bytes()).hexdigest())
    except OSError:
        return None
