"""Words of a text, and parts of a search for them.

A word stands between white space, brackets, quotes, commas and slashes, without marks at its ends.
Behind a mark inside of it begins one more. The case does not count. Chinese and Japanese, which set
no spaces, are cut into pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 32
"""Characters of a word's longest piece. Pieces overlap: in one of them is each part."""
PART = LONGEST // 2
"""Characters of a search's word that are looked for, its first ones."""

_BETWEEN = (
    r"\s\x00-\x1f\ud800-\udfff/\\?&=#|<>()\[\]{}\",;\u00ab\u00bb\u2010-\u206f"
    r"\u3000-\u3004\u3008-\u3020\uff00-\uff0f\uff1a-\uff20"
)
_DENSE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_CHUNK = re.compile(rf"[{_DENSE}]+|[^{_BETWEEN}{_DENSE}]+")
_IS_DENSE = re.compile(rf"[{_DENSE}]")
_INSIDE = re.compile(r"[\W_]+")
_MARKS = ".:!'*_~-"


def words_of(text: str) -> set[str]:
    """The words of a text, long ones in pieces."""
    found: set[str] = set()
    for chunk in set(_CHUNK.findall(text.casefold())):
        if _IS_DENSE.match(chunk):
            found.update(_pairs(chunk), chunk[-1])
        elif word := chunk.strip(_MARKS):
            found.update(_pieces(word))
            if not word.isalnum():
                ends = (mark.end() for mark in _INSIDE.finditer(word, 1))
                found.update(*(_pieces(word[end:]) for end in ends if end < len(word)))
    return found


def parts_of(search: str) -> tuple[str, ...]:
    """The parts of a search: beginnings of its words."""
    found: dict[str, None] = {}
    for chunk in _CHUNK.findall(search.casefold()):
        if _IS_DENSE.match(chunk):
            found |= dict.fromkeys(_pairs(chunk))
        elif word := chunk.strip(_MARKS):
            found[word[:PART]] = None
    return (*found,)


def _pairs(chunk: str) -> Iterator[str]:
    return (chunk[begin : begin + 2] for begin in range(max(1, len(chunk) - 1)))


def _pieces(word: str) -> Iterator[str]:
    return (word[begin : begin + LONGEST] for begin in range(0, max(1, len(word) - PART), PART))
