"""Notes about working copies: the stored version of each.

A note lies beside the work folders, where no tool writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, field
from functools import cache
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from gateway.values import value

MOST_NAMED = 1000
"""Left-out entries that a note names."""


@value
class WorkNote:
    """Facts about a working copy."""

    versions: tuple[str, ...]
    """The stored version it belongs to, as far as known: a commit may have failed, or not."""
    since: int = 0
    """All changes before are stored; a time of the file system in nanoseconds."""
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    """Paths that are on this machine alone, with the reasons."""
    loaded_at: int = 0
    """Files that were not changed since then came from the store, and people know of them."""


def read_note(path: Path) -> WorkNote | None:
    """The note, unless it can't be relied on.

    A machine that went down may have lost what its files held, also with the note in place.
    """
    noted = _noted(path)
    try:
        if noted.pop("machine") == machine_boot():
            noted["versions"] = tuple(noted["versions"])
            return WorkNote(**noted)
    except (KeyError, TypeError):
        pass
    return None


def left_out_before(path: Path) -> tuple[str, ...]:
    """Paths that a note of any age left out."""
    return tuple(map(str, _noted(path).get("left_out", ())))


def _noted(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        if isinstance(noted := json.loads(path.read_bytes()), dict):
            return cast("dict[str, Any]", noted)
    return {}


def write_note(path: Path, note: WorkNote) -> None:
    """Replace the note as a whole. Raises OSError."""
    left_out = dict(sorted(note.left_out.items())[:MOST_NAMED])
    text = json.dumps(asdict(note) | {"left_out": left_out, "machine": machine_boot()})
    path.parent.mkdir(mode=0o700, exist_ok=True)
    part = path.with_name(f".{uuid4().hex}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


@cache
def machine_boot() -> str:
    """Id of the machine's last start; "" where it has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
