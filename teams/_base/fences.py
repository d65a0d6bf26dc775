"""Fenced blocks of Markdown, found in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, takewhile

_OPENING = re.compile(
    r"(?P<indentation>[ \t]*+)(?P<fence>`{3,}+)[ \t]*+(?P<language>[\w+#-]*+)[^`]*+"
)
_CLOSING = re.compile(r"[ \t]*+(?P<fence>`{3,}+)[ \t]*+")


def fenced_blocks(markdown: str) -> Iterator[tuple[str, str]]:
    """Language and contents of each fenced block.

    A fence has three backticks or more. The language is the info string's first word, "" for none.
    Lines of a block lose as much indentation as its fence has. A block that no fence of at least as
    many backticks closes is none.
    """
    lines = markdown.split("\n")
    closing = [len(found["fence"]) if (found := _CLOSING.fullmatch(line)) else 0 for line in lines]
    longest_after = [*accumulate(reversed(closing), max)][::-1]
    number = 0
    while number < len(lines):
        opening = _OPENING.fullmatch(lines[number])
        number += 1
        if opening is None or number == len(lines):
            continue
        ticks = len(opening["fence"])
        if longest_after[number] < ticks:
            continue
        end = next(each for each in range(number, len(lines)) if closing[each] >= ticks)
        indentation = opening["indentation"]
        inside = (_outdented(line, indentation) for line in lines[number:end])
        yield opening["language"], "".join(f"{line}\n" for line in inside)
        number = end + 1


def _outdented(line: str, indentation: str) -> str:
    """The line without what it shares with the indentation."""
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(line, indentation, strict=False))
    return line[sum(1 for _ in shared) :]
