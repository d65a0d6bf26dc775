"""CPU time of other processes, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def parent_of(process: int) -> int:
    """The process that started this one."""
    return int(_fields(process)[1])


def family_seconds(process: int) -> float:
    """Seconds of CPU of a process and all its children."""
    own = sum(map(int, _fields(process)[11:15]))
    each = (_fields(path.name) for path in Path("/proc").glob("[0-9]*"))
    now = sum(int(child[11]) + int(child[12]) for child in each if child[1:2] == [str(process)])
    return (own + now) / TICK


def _fields(process: str | int) -> list[str]:
    """Facts of a process behind its name: state, parent, and so on."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:  # it has ended
        return []
    return text.rpartition(")")[2].split()
