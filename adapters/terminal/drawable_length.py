"""Limits to drawing a growing text: long code fences and tables.

Each further line of one costs the drawing of all its lines again, so what comes behind the first
ones is drawn when the block is closed. Pure.
"""

from __future__ import annotations

import re
from itertools import takewhile

MOST_LINES = 200
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def drawable_length(text: str) -> int:
    """Number of characters of a growing text to draw now."""
    lines = text.splitlines(keepends=True)
    start = _find_open_block(lines)
    if len(lines) - start <= MOST_LINES:
        return len(text)
    return sum(map(len, lines[: start + MOST_LINES]))


def _find_open_block(lines: list[str]) -> int:
    """The first line of an open fence or table, or the end."""
    fence, start = "", 0
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark is None:
            continue
        if not fence:
            fence, start = mark[1], number
        elif mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
    if fence:
        return start
    rows = takewhile(lambda line: line.lstrip().startswith("|"), reversed(lines))
    return len(lines) - sum(1 for _ in rows)
