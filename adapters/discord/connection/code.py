r"""Code in a message, as Discord finds it, which differs from CommonMark.

A block goes from three backticks to the next three, and code in a line from a run of backticks to
the next run of as many or, if there is none, of fewer. As patterns of Discord's clients:
^```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][^]*?)\n*``` and ^(`+)([\s\S]*?[^`])\1(?!`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from gateway.render.code import keep, with_code

FENCE = "```"

_TICKS = re.compile(r"`++")
_TOKEN = re.compile(r"\\[^0-9A-Za-z\s]|`")
_LANGUAGE = re.compile(r"[a-z0-9_+\-.#]++\n", re.IGNORECASE)
_CALLS = re.compile(r"\[[^\[\]]*+\]\(")
_LINE_ENDS = re.compile(r"\n*+")


def change_text(text: str, change: Callable[[str], str]) -> str:
    """The message with all changed that Discord does not read as code.

    A mark stands in for each piece of code. Code that may be the words of a link is changed, too.
    """
    kept: list[str] = []
    pieces: list[str] = []
    at = 0
    brackets = False
    for start, end in _find_code(text):
        pieces.append(text[at:start])
        brackets = brackets or "[" in pieces[-1]
        code, at = text[start:end], end
        block = code.startswith(FENCE) and code.endswith(FENCE)
        crosses = "\n" in code and not block  # its quotation or heading may end before
        masks = brackets and "](" in _CALLS.sub("", code)
        pieces.append(keep(change(code) if crosses or masks else code, kept))
    return with_code(change("".join([*pieces, text[at:]])), kept)


def _find_code(text: str) -> Iterator[tuple[int, int]]:
    runs: dict[int, list[int]] = {}
    ends: list[int] = []
    for found in _TICKS.finditer(text):
        runs.setdefault(found.end() - found.start(), []).append(found.start())
        ends.append(found.end())
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        start, at = found.span()
        if text[start] == "\\":
            continue
        after = ends[bisect_right(ends, start)]
        end = _end_of_block(text, start) or _end_of_span(runs, start, after)
        if end is not None:
            yield start, end
        at = end or after


def _end_of_block(text: str, start: int) -> int | None:
    if not text.startswith(FENCE, start):
        return None
    start += len(FENCE)
    named = _LANGUAGE.match(text, start)
    for begin in (named.end() if named else start, start):
        found = _LINE_ENDS.match(text, begin)
        assert found is not None
        end = text.find(FENCE, found.end() + 1)
        if end >= 0:
            return end + len(FENCE)
    return None


def _end_of_span(runs: dict[int, list[int]], start: int, end: int) -> int | None:
    for ticks in range(end - start, 0, -1):
        starts = runs.get(ticks, [])
        following = bisect_left(starts, end)
        if following < len(starts):
            return starts[following] + ticks
    return None
