"""Code in Markdown, as CommonMark finds it.

That is in fences, and in spans within a paragraph or a cell of a table.

Pure. A text that is not yet whole may be cut anywhere: a fence without an end goes on to the end of
the text, and a span without one is no span.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

OPEN, CLOSE = "\ud803", "\ud804"
"""Marks around the number of a span, in its place. Lone surrogates: no sane text has them."""

_STAND_IN = re.compile(f"{OPEN}([0-9]+){CLOSE}")
_TICKS = re.compile(r"`++")
_BAR = re.compile(r"(?<!\\)\|")


# What HTML and indented lines hold is text here, and definitions stay where they are: a platform
# that reads less as code than CommonMark does must not meet what was left alone.
@cache
def _blocks() -> MarkdownIt:
    from markdown_it import MarkdownIt  # for start-up

    parser = MarkdownIt("commonmark").enable("table").disable(["html_block", "reference"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


Span = tuple[int, int]
ChangeCode = Callable[[str], str]
Change = Callable[[str, list[str]], str]
"""From lines, and the code that marks stand in for in them, to other lines."""


def change_prose(
    text: str, change: Change, *, span: ChangeCode = str, fence: ChangeCode = str
) -> str:
    """The text with its prose changed, and its code.

    The code is changed by `span` and `fence`. Between fences `change` gets whole lines, where a
    mark stands in for each span of code.
    """
    fences, spans = _find_code(text) if "`" in text or "~~~" in text else ([], [])
    pieces: list[str] = []
    at, first = 0, 0
    for start, end in (*fences, (len(text), len(text))):
        last = bisect_left(spans, (start, start))
        kept = [span(text[slice(*each)]) for each in spans[first:last]]
        lines = change(_with_stand_ins(text, at, start, spans[first:last]), kept)
        pieces += [with_code(lines, kept), fence(text[start:end]) if start < end else ""]
        at, first = end, last
    return "".join(pieces)


def keep(code: str, kept: list[str]) -> str:
    """Keep more code; the mark that stands in for it."""
    kept.append(code)
    return f"{OPEN}{len(kept) - 1}{CLOSE}"


def with_code(text: str, kept: Sequence[str]) -> str:
    """The text with the code that marks stand in for."""
    return _STAND_IN.sub(lambda found: kept[int(found[1])], text)


def _with_stand_ins(text: str, start: int, end: int, spans: Sequence[Span]) -> str:
    pieces: list[str] = []
    for number, (first, last) in enumerate(spans):
        pieces += [text[start:first], f"{OPEN}{number}{CLOSE}"]
        start = last
    return "".join([*pieces, text[start:end]])


@lru_cache(maxsize=8)
def _find_code(text: str) -> tuple[list[Span], list[Span]]:
    """The lines of fences, and code in a line outside of them."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    starts[-1] = len(text)
    fences: list[Span] = []
    spans: list[Span] = []
    row = -1
    for token in _blocks().parse(text):
        if token.map is None:
            continue
        first, end = (starts[min(line, len(starts) - 1)] for line in token.map)
        match token.type:
            case "fence":
                fences.append((first, end))
            case "tr_open":
                row = first
                spans += _spans_in_row(text, first, end)
            case "inline" if first != row:
                spans += _spans_between(text, first, end)
            case _:
                pass
    return fences, spans


def _spans_in_row(text: str, start: int, end: int) -> Iterator[Span]:
    for found in _BAR.finditer(text, start, end):
        yield from _spans_between(text, start, found.start())
        start = found.end()
    yield from _spans_between(text, start, end)


def _spans_between(text: str, start: int, end: int) -> Iterator[Span]:
    """Code between runs of as many backticks; an escaped one begins none."""
    runs = [found.span() for found in _TICKS.finditer(text, start, end)]
    following: dict[int, int] = {}
    closers: list[tuple[int | None, int | None]] = []
    for number in reversed(range(len(runs))):
        ticks = runs[number][1] - runs[number][0]
        closers.append((following.get(ticks), following.get(ticks - 1)))
        following[ticks] = number
    closers.reverse()
    number, floor = 0, start
    while number < len(runs):
        first, last = runs[number]
        escaped = _is_escaped(text, first, floor)
        closer = closers[number][escaped]
        if closer is not None and last - first > escaped:
            floor = runs[closer][1]
            yield first + escaped, floor
            number = closer
        number += 1


def _is_escaped(text: str, at: int, floor: int) -> bool:
    begin = at
    while begin > floor and text[begin - 1] == "\\":
        begin -= 1
    return (at - begin) % 2 == 1
