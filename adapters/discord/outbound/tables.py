"""Tables, which Discord lacks, as aligned columns or lines. Pure functions.

Columns that fit WIDTH stand in code, which keeps them aligned on a desktop and on most phones;
where they don't, each row is a line that names its columns, and wraps like any other text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Literal, TypeAlias

from gateway.render.graphemes import may_cut
from gateway.render.links import LINKED
from gateway.render.split import Context

WIDTH = 60
"""Columns of a monospaced font."""
ROWS = 20
"""Rows of one piece of code; with more, each begins with the header again."""
GAP = "  "
FLAG_LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))

Side: TypeAlias = Literal["left", "right", "middle"]

_BAR = re.compile(r"(?<!\\)\|")
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_STRONG = re.compile(r"\*\*|__|~~")
_EMPHASIS = re.compile(r"(?<!\w)([*_])(\S(?:[^\n]{0,200}?\S)?)\1(?!\w)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def render_tables(text: str) -> str:
    """The text with its tables as Discord can show them."""
    lines, shown = text.split("\n"), list[str]()
    context, n = Context(), 0
    while n < len(lines):
        line, before = lines[n], context
        context, n = before.after(line), n + 1
        begins = before.table is None and context.table is not None
        if not begins or len(_cells(shown[-1])) != len(_cells(line)):
            shown.append(line)
            continue
        rows = list(takewhile(lambda row: "|" in row, lines[n:]))
        table = [_cells(row) for row in (shown.pop(), *rows)]
        shown += _render_table(table, [_side(cell) for cell in _cells(line)])
        context, n = Context(), n + len(rows)
    return "\n".join(shown)


def _render_table(table: Sequence[list[str]], sides: Sequence[Side]) -> list[str]:
    """A table, its header first, in lines."""
    even = [[*row, *[""] * len(sides)][: len(sides)] for row in table]
    bare = [[_strip_markup(cell) for cell in row] for row in even]
    widths = [max(map(_width, column)) for column in zip(*bare, strict=True)]
    wide = sum(widths) + len(GAP) * (len(widths) - 1) > WIDTH
    if wide or any(LINKED.search(cell) for row in even for cell in row):  # code has no links
        return [_line(even[0], row) for row in even[1:]]
    return _align_columns(bare, widths, sides)


def _align_columns(table: list[list[str]], widths: list[int], sides: Sequence[Side]) -> list[str]:
    padded = [[_pad_cell(*cell) for cell in zip(row, widths, sides, strict=True)] for row in table]
    header, *rows = [GAP.join(row).rstrip() for row in padded]
    rule = GAP.join("-" * width for width in widths)
    lines: list[str] = []
    for first in range(0, max(len(rows), 1), ROWS):
        lines += ["```", header, rule, *rows[first : first + ROWS], "```", ""]
    return lines[:-1]


def _line(header: list[str], row: list[str]) -> str:
    named = [
        f"**{_STRONG.sub('', name)}:** {cell}" if name else cell
        for name, cell in zip(header, row, strict=True)
        if cell
    ]
    return "- " + " \u00b7 ".join(named)


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [_BREAK.sub("; ", cell).replace("\\|", "|").strip() for cell in _BAR.split(inner)]


def _side(cell: str) -> Side:
    if cell.endswith(":"):
        return "middle" if cell.startswith(":") else "right"
    return "left"


def _strip_markup(cell: str) -> str:
    """A cell without the marks that code would show."""
    text = _EMPHASIS.sub(r"\2", _STRONG.sub("", cell.replace("`", "")))
    return _ESCAPED.sub(r"\1", text).replace("`", "\u02cb")


def _pad_cell(cell: str, width: int, side: Side) -> str:
    room = width - _width(cell)
    left = {"left": 0, "middle": room // 2, "right": room}[side]
    return f"{' ' * left}{cell}{' ' * (room - left)}"


def _width(text: str) -> int:
    """Columns that a text takes; a grapheme counts as its widest part."""
    ends = [at for at in range(1, len(text) + 1) if may_cut(text, at)]
    return sum(max(map(_columns, text[a:b])) for a, b in pairwise([0, *ends]))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    wide = unicodedata.east_asian_width(character) in "WF" or character in FLAG_LETTERS
    return 2 if wide else 1
