"""Files that a config names, and their states."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

LARGEST = 16_000_000
"""Bytes from which on a file is not read: its size and time tell whether it has changed."""

_IMPORT_PATH = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_][\w.]*")
_OWN = (
    *(("health",), ("logging",), ("tracing",)),
    *(("adapters", "*", "host"), ("adapters", "*", "port")),
    *(("limits", name) for name in ("parallel_turns", "live_teams_mb", "shutdown_seconds")),
    *(("store", name) for name in ("folder", "pool_size", "url", "url_env", "url_file")),
)
"""Settings of each node's own."""
_STATE = frozenset(("backup", "logging", "store"))
"""Tables with places that Parley writes to itself."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file's time, size and number, with a digest of its content."""

    stamp: tuple[int, int, int]
    digest: str


States: TypeAlias = Mapping[Path, FileState | None]


class ReadFiles(NamedTuple):
    """Files of a config, with the digest that nodes compare."""

    digest: str
    states: States


NO_FILES = ReadFiles("", {})
"""In the place of those that can't be read."""


def named_files(source: Path, text: str, *, secrets: bool = True) -> frozenset[Path]:
    """The config at `source` with the files that it names.

    They are component files, the `secrets` of `..._file`, texts among the options of a team from
    Python, and Python modules in its folder, there or not.
    """
    folder = source.absolute().parent
    try:
        data = tomllib.loads(text)
    except ValueError:
        data = {}
    tables = {name: table for name, table in data.items() if name not in _STATE}
    named = (path for key, path in _named(tables, folder) if secrets or not key.endswith("_file"))
    return frozenset((source.absolute(), *named))


def shared_digest(source: Path, text: str) -> str:
    """Digest of the config and of the files that it names.

    Where they lie does not count: nodes have them in other folders. What each node sets for itself,
    secrets and the largest files do not count, either.
    """
    files = named_files(source, text, secrets=False) - {source.absolute()}
    named = sorted(f"{path.name} {digest}" for path in files if (digest := _digest(path)))
    return hashlib.sha256("\n".join([_shared(text), *named]).encode()).hexdigest()


def _shared(text: str) -> str:
    """A config without each node's own settings."""
    try:
        data = tomllib.loads(text)
    except ValueError:
        return text
    for path in _OWN:
        _remove(data, path)
    return json.dumps(data, sort_keys=True, default=str)


def _remove(table: dict[str, object], path: Sequence[str]) -> None:
    first, *rest = path
    for name in [*table] if first == "*" else [first]:
        found = table.get(name)
        if not rest:
            table.pop(name, None)
        elif isinstance(found, dict):
            _remove(cast("dict[str, object]", found), rest)
            if not found:
                del table[name]


def _digest(path: Path) -> str:
    """A file's digest; "" for none, or a large one."""
    with suppress(OSError):
        if _is(path) and path.stat().st_size <= LARGEST:
            return hashlib.sha256(path.read_bytes()).hexdigest()
    return ""


def read_states(paths: Iterable[Path], before: States) -> States:
    """States of files; one that looks as before is not read."""
    return {path: _state(path, before.get(path)) for path in paths}


def _named(
    table: Mapping[str, Any], folder: Path, *, options: bool = False
) -> Iterator[tuple[str, Path]]:
    """Files with the keys that name them."""
    for key, value in table.items():
        for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                inner = cast("dict[str, Any]", each)
                yield from _named(inner, folder, options=options or key == "options")
            elif isinstance(each, str):
                for path in _in_text(key, each, folder, options=options):
                    yield key, path


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
