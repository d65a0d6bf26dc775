"""Passages of a text, and queries for them, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 1500
"""Characters of a passage; a longer line is cut."""
ENOUGH = 800
"""Characters after which it ends with its paragraph."""
SHORTEST = 200
"""Characters before which no heading ends it."""
MOST_WORDS = 32
"""Words of a question that are searched for."""
STEM = 4
"""Letters that a word's beginning has at least."""

_HEADING = re.compile(r"#{1,6} ")
# Written without spaces, or as one word with their particles: each character is a word of the
# index, two in a row a word of a question.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_MARKS = "\u0300-\u036f\u0900-\u0dff"
"""Accents and vowels that Python does not count as letters."""
_WORD = re.compile(rf"{_UNSPACED.pattern}+|(?:(?!{_UNSPACED.pattern})(?:[^\W_]|[{_MARKS}]))+")


class Passage(NamedTuple):
    """A part of a text with its lines, counted from 1."""

    line: int
    end_line: int
    text: str


def passages_of(text: str) -> Iterator[Passage]:
    """Passages that begin at headings and end with paragraphs."""
    held: list[str] = []
    first = last = size = 0
    for number, line in enumerate(text.split("\n"), start=1):
        for start in range(0, len(line) or 1, LONGEST):
            piece = line[start : start + LONGEST].rstrip()
            full = size + len(piece) > LONGEST or (size > ENOUGH and not piece)
            if held and (full or (size > SHORTEST and _HEADING.match(piece))):
                yield Passage(first, last, "\n".join(held).rstrip())
                held, size = [], 0
            if piece or held:
                first, last = (first if held else number), (number if piece else last)
                held.append(piece)
                size += len(piece) + 1
    if held:
        yield Passage(first, last, "\n".join(held).rstrip())


def indexed_form(text: str) -> str:
    """The text for the index's tokenizer."""
    return _UNSPACED.sub(r" \g<0> ", text)


def match_of(question: str) -> str:
    """A query of FTS5 for passages with any of the words.

    A word counts as the beginning of others, too, without its last letters: "Antrag" also finds
    "Anträge". Nothing of the question is read as FTS5's own syntax.
    """
    words: dict[str, None] = {}
    for found in _WORD.finditer(question):
        run = found[0]
        if _UNSPACED.match(run):
            pairs = (" ".join(run[at : at + 2]) for at in range(max(1, len(run) - 1)))
            words.update(dict.fromkeys(f'"{pair}"' for pair in pairs))
        else:
            inflected = len(run) >= STEM and not any(map(str.isdigit, run))
            stem = f' OR "{run[: max(STEM, len(run) - 2)]}"*' if inflected else ""
            words[f'"{run}"{stem}'] = None
        if len(words) >= MOST_WORDS:
            break
    return " OR ".join([*words][:MOST_WORDS]) or '""'
