"""Paths to choose from, below a folder or in it. No Textual.

All of it blocks.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from pathlib import Path

from adapters.terminal.mentions import is_within, placed
from teams.safe_files import is_key_file

MOST_PATHS = 20_000
MOST_SECONDS = 3.0
"""Seconds after which a listing has what it has."""
MOST_OFFERED = 50

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "ls-files", "-z")
"""No program that a folder's settings name is run."""
_TRACKED_AND_NEW = ("--cached", "--others", "--exclude-standard", "--deduplicate")
_OF_TOOLS = frozenset(("node_modules", "__pycache__", "venv", "target", "dist", "build"))
"""Folders that are left out where git does not say which are ignored."""


def list_below(folder: Path) -> list[str]:
    """Files below a folder: what git does not ignore, or all.

    Hidden ones, those of keys, and names that no terminal can show are left out.
    """
    found = _of_git(folder)
    every = _walked(folder) if found is None else found
    shown = (path for path in every if not _is_hidden(path) and _is_offered(path))
    return sorted(shown, key=lambda path: (path.count("/"), path.casefold()))


def list_in(typed: str, folder: Path, fence: Path | None = None) -> list[str]:
    """Entries of a typed folder within the fence, as they are typed.

    Hidden ones where the name begins with a dot; none of keys.
    """
    within, _, begun = typed.rpartition("/")
    found: list[str] = []
    place = placed(f"{within}/", folder)
    if not is_within(place, fence):
        return found
    try:
        with os.scandir(place) as entries:
            for entry, _ in zip(entries, range(MOST_PATHS), strict=False):
                hidden = entry.name.startswith(".") and not begun.startswith(".")
                if not hidden and _is_offered(entry.name):
                    found.append(f"{within}/{entry.name}{'/' if entry.is_dir() else ''}")
    except (OSError, ValueError):
        return []
    return sorted(found, key=str.casefold)


def _is_offered(path: str) -> bool:
    return path.isprintable() and not is_key_file(path)


def matching_paths(paths: Iterable[str], typed: str) -> list[str]:
    """Some paths for what was typed: names that begin with it first."""
    typed = typed.casefold()
    ranked = (
        (_rank(folded, typed), at, path)
        for at, path in enumerate(paths)
        if typed in (folded := path.casefold())
    )
    return [path for _, _, path in nsmallest(MOST_OFFERED, ranked)]


def _rank(path: str, typed: str) -> int:
    if path.startswith(typed):
        return 0
    return 1 if path.rstrip("/").rpartition("/")[2].startswith(typed) else 2


def _of_git(folder: Path) -> list[str] | None:
    """The files that git knows or would add; None without git."""
    try:
        done = subprocess.run(
            [*_GIT, *_TRACKED_AND_NEW],
            cwd=folder,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=MOST_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout).split("\0")[:MOST_PATHS]


def _walked(folder: Path) -> Iterator[str]:
    until, count = time.monotonic() + MOST_SECONDS, 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _OF_TOOLS
        )
        for name in files:
            yield os.path.relpath(os.path.join(place, name), folder)
        count += len(files)
        if count > MOST_PATHS or time.monotonic() > until:
            return


def _is_hidden(path: str) -> bool:
    """True also for what a line can't show, and for nothing."""
    hidden = any(part.startswith(".") for part in path.split("/"))
    return hidden or not path or not path.isprintable() or '"' in path
