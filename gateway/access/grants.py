"""Approvals for the rest of a thread, and the calls they cover.

The store keeps a grant's scope as a text: "" for any arguments, the hash of exact ones, or folders
below which arguments have to lie.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from gateway.client import AnswerKind
from gateway.events import GrantKind
from gateway.render.arguments import folder_text
from gateway.store.records import Request
from gateway.values import Folders
from teams.base import ToolCall

SAME, BELOW = "same:", "below:"

NARROWEST: Sequence[AnswerKind] = ("approve", *get_args(GrantKind))
"""Approvals; each covers all that those before it cover."""

LONGEST_TOLD = 55
"""Characters of folders that a button can name; longer ones are not offered."""
MOST_STEPS = 64


def arguments_hash(arguments: str) -> str:
    """Hash of arguments, to which an approval is bound."""
    return hashlib.sha256(arguments.encode()).hexdigest()


def grant_scope(kind: AnswerKind, request: Request) -> str | None:
    """Scope of the grant that an answer gives; None for no grant."""
    match kind:
        case "approve_always":
            return ""
        case "approve_same":
            return f"{SAME}{request.arguments_hash}"
        case "approve_below":
            return BELOW + json.dumps(request.below, ensure_ascii=False)
        case _:
            return None


def scope_text(scope: str) -> str:
    """A scope for people."""
    if scope.startswith(SAME):
        return f"exactly the arguments {scope.removeprefix(SAME)[:12]}"
    if scope.startswith(BELOW):
        return folder_text(_folders(scope))
    return "any arguments"


def covers(scope: str, call: ToolCall, paths: Sequence[str], folder: Path | None) -> bool:
    """True if a grant covers this call.

    `paths` are the arguments that the policy declares as paths, now; `folder` is the thread's own.
    """
    if scope.startswith(SAME):
        return scope == f"{SAME}{arguments_hash(call.arguments)}"
    if scope.startswith(BELOW):
        return is_below(dict(_folders(scope)), call, paths, folder)
    return not scope


def offered_folders(call: ToolCall, paths: Sequence[str], folder: Path | None) -> Folders:
    """The folder of each path; none if one can't be told."""
    found: list[tuple[str, str]] = []
    arguments = call.parsed_arguments() or {}
    for name in sorted(set(paths)):
        place = None if folder is None else path_in(folder, arguments.get(name))
        if place is None or folder is None:
            return ()
        if not (folder / place).is_dir():
            place = place.parent
        found.append((name, "" if place == PurePosixPath() else str(place)))
    return tuple(found) if len(folder_text(tuple(found))) <= LONGEST_TOLD else ()


def path_in(folder: Path, named: object) -> PurePosixPath | None:
    """The path below the folder that an argument names.

    None for one outside of it, through a link, to a file with a second name, or in a form that a
    tool might read in another way.
    """
    if not isinstance(named, str) or not _is_plain(named):
        return None
    path = PurePosixPath(named)
    if path.is_absolute():
        if not path.is_relative_to(str(folder)):
            return None
        path = path.relative_to(str(folder))
    return _without_links(folder, path.parts)


def _without_links(folder: Path, steps: Sequence[str]) -> PurePosixPath | None:
    found: list[str] = []
    missing = len(steps) > MOST_STEPS
    for step in steps:
        if step == "..":
            if missing or not found:
                return None
            found.pop()
            continue
        found.append(step)
        try:
            entry = os.lstat(folder.joinpath(*found))
        except FileNotFoundError:
            missing = True
            continue
        except (OSError, ValueError):
            return None
        second_name = stat.S_ISREG(entry.st_mode) and entry.st_nlink != 1
        if stat.S_ISLNK(entry.st_mode) or second_name:
            return None
    return PurePosixPath(*found)


def _is_plain(named: str) -> bool:
    """True for a path that every tool reads in the same way."""
    odd = any(mark in named for mark in ("\\", "://", "$", "%"))
    return (
        bool(named)
        and named.isprintable()
        and named == named.strip()
        and not (odd or named.startswith("~"))
    )


def is_below(
    folders: Mapping[str, str], call: ToolCall, paths: Sequence[str], folder: Path | None
) -> bool:
    """True if each path lies below its folder ("": the thread's own)."""
    arguments = call.parsed_arguments()
    if folder is None or arguments is None or not folders or set(paths) != set(folders):
        return False
    for name, above in folders.items():
        place = path_in(folder, arguments.get(name))
        if place is None or not place.is_relative_to(PurePosixPath(above)):
            return False
    return True


def _folders(scope: str) -> Folders:
    pairs: Any = json.loads(scope.removeprefix(BELOW))
    return tuple((str(name), str(folder)) for name, folder in pairs)
