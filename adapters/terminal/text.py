"""Text on the screen: safe while it grows, short, and for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from gateway.render.sanitize import one_line, sanitize, shorten

if TYPE_CHECKING:
    from gateway.agent_state import Used
    from gateway.client import ThreadInfo

SENDING = "  sending…"
MOST_LINES = 200
"""Drawn lines of an open code fence or table: each further one draws all of them again."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
INDENT = "  "
WIDE = "\u1100"
"""From here on a character may take two cells."""
NARROWEST = 10
"""Cells below which no line is cut."""
_WORDS = re.compile(r" *[^ ]+| +")
LONGEST_NUMBER = 9
"""Digits of a number of messages, turns or blocks."""
SMALLEST_COST = 0.01
"""In the currency of the prices; less is told as less."""
_TENTHS_BELOW = 10
_SHORTEST = 0.05


def drawable_length(text: str) -> int:
    """Number of characters of a growing text to draw now.

    The rest of a long code fence or table is drawn when the block is closed.
    """
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


def first_lines(text: str, lines: int) -> tuple[str, int]:
    """The first lines of a text, and how many more it has."""
    every = text.splitlines()
    return "\n".join(every[:lines]), max(0, len(every) - lines)


def indented(text: str, width: int = 0) -> str:
    """The text with all lines but the first indented.

    With `width`, lines fit so many cells: what a terminal cuts by itself begins at column 0.
    """
    first, *others = text.split("\n")
    said = [first, *(f"{INDENT}{line}" for line in others)]
    lines = [line if line.strip() else "" for line in said]
    if width < NARROWEST:
        return "\n".join(lines)
    return "\n".join(piece for line in lines for piece in _fitted(line, width))


def _fitted(line: str, width: int) -> Iterator[str]:
    """The line in pieces that fit, cut between words if possible."""
    if _cells(line) < width:
        yield line
        return
    piece, used = "", 0
    for word in _WORDS.findall(line.expandtabs()):
        if used + _cells(word) >= width > len(INDENT) + _cells(word.lstrip()):
            yield piece.rstrip()
            piece, used, word = INDENT, len(INDENT), word.lstrip()
        for char in word:
            if used + _cells(char) >= width:
                yield piece
                piece, used = INDENT, len(INDENT)
            piece, used = piece + char, used + _cells(char)
    yield piece.rstrip()


def _cells(text: str) -> int:
    """Cells that a text takes at most, but for tabs."""
    return len(text) + sum(char >= WIDE for char in text) + 7 * text.count("\t")


def typed_number(text: str) -> int:
    """A number that a person typed; 0 for anything else."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else 0


def format_tokens(count: int) -> str:
    """A token count as people say it: 840, 3.1k, 25k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if count >= size:
            value = count / size
            return f"{value:.0f}{unit}" if count >= 10 * size else f"{value:.1f}{unit}"
    return str(count)


def format_cost(used: Used) -> str:
    """The cost as far as prices are known; "" without tokens."""
    if not used.tokens:
        return ""
    cost = f"{used.cost:,.2f}" if used.cost >= SMALLEST_COST else f"<{SMALLEST_COST}"
    if used.unpriced == used.tokens:
        return "price unknown"
    return f"cost {'over ' if used.unpriced else ''}{cost}"


def format_size(size: int) -> str:
    """A size as people say it: 840 bytes, 3.1 kB, 25 MB."""
    for unit, name in ((1_000_000, "MB"), (1000, "kB")):
        if size >= unit:
            value = size / unit
            return f"{value:.0f} {name}" if size >= 10 * unit else f"{value:.1f} {name}"
    return f"{size} byte{'s' * (size != 1)}"


def format_duration(seconds: float) -> str:
    """A duration for people: <0.1s, 0.4s, 12s, 3m 05s, 1h 02m."""
    if seconds < _SHORTEST:
        return "<0.1s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02d}m"
    if minutes:
        return f"{minutes}m {rest:02d}s"
    return f"{seconds:.1f}s" if rest < _TENTHS_BELOW else f"{rest}s"


def format_age(seconds: float) -> str:
    """The age in short: now, 5m, 3h, 2d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "now"


def thread_title(thread: ThreadInfo) -> str:
    """The thread's title, or a substitute."""
    return one_line(sanitize(thread.title or thread.preview)) or "New thread"


def quoted_title(thread: ThreadInfo) -> str:
    """The thread's title for a sentence."""
    return f"“{shorten(thread_title(thread), 40)}”"


def deletion_notice(thread: ThreadInfo) -> str:
    """A notice of a deletion that can still be undone."""
    title = quoted_title(thread)
    return (
        f"{title} is deleted in 10 seconds, with its messages and files. u in the list undoes it."
    )
