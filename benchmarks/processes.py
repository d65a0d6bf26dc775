"""CPU time of other processes, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def parent_of(process: int) -> int:
    """The process that started this one."""
    return int(_fields(process)[1])


def children_of(process: int) -> list[int]:
    """The processes that this one started and that still run."""
    each = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return [child for child in each if _fields(child)[1:2] == [str(process)]]


def family_seconds(process: int) -> float:
    """Seconds of CPU of a process and all its children."""
    own = sum(map(int, _fields(process)[11:15]))
    each = map(_fields, children_of(process))
    now = sum(sum(map(int, child[11:13])) for child in each)
    return (own + now) / TICK


def _fields(process: str | int) -> list[str]:
    """Facts of a process behind its name: state, parent, and so on."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:  # it has ended
        return []
    return text.rpartition(")")[2].split()
