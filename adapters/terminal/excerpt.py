"""A long text's shown part: both ends, or a place."""

from __future__ import annotations

from dataclasses import dataclass

MOST_LINES = 20
MOST_CHARACTERS = 2000
"""Limits of a text that is shown whole."""
HEAD_LINES, HEAD_CHARACTERS = 8, 800
TAIL_LINES, TAIL_CHARACTERS = 4, 400


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Pieces of a text, and words for the rest.

    `before` and `between` say what is left out there.
    `rest` is the text below the first piece that is not shown.
    """

    before: str
    first: str
    between: str = ""
    last: str = ""
    rest: str = ""

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.before, self.first, self.between, self.last)))


def is_long(text: str) -> bool:
    """True for a text that would push all others out of sight."""
    return len(text) > MOST_CHARACTERS or text.count("\n") >= MOST_LINES


def ends_of(text: str) -> Excerpt:
    """Both ends of a long text; a short one whole."""
    if not is_long(text):
        return Excerpt("", text)
    head = "\n".join(text[:HEAD_CHARACTERS].split("\n", HEAD_LINES)[:HEAD_LINES])
    tail = "\n".join(text[-TAIL_CHARACTERS:].rsplit("\n", TAIL_LINES)[-TAIL_LINES:])
    hidden = text[len(head) : len(text) - len(tail)]
    return Excerpt("", head, _told(hidden, "more "), tail, hidden)


def around(text: str, at: int) -> Excerpt:
    """The surroundings of a character in a long text."""
    if not is_long(text):
        return Excerpt("", text)
    top = text[max(0, at - TAIL_CHARACTERS) : at]
    start = at - len("\n".join(top.rsplit("\n", TAIL_LINES)[-TAIL_LINES:]))
    end = start + len(
        "\n".join(text[start : start + MOST_CHARACTERS].split("\n", MOST_LINES)[:MOST_LINES])
    )
    above, rest = text[:start], text[end:]
    before = _told(above, "", " above") if above else ""
    between = _told(rest, "more ") if rest else ""
    return Excerpt(before, text[start:end], between, "", rest)


def _told(hidden: str, more: str, above: str = "") -> str:
    """The number of lines, or characters of a single one."""
    lines = hidden.strip("\n").count("\n") + 1
    size = f"{lines:,} {more}lines" if lines > 1 else f"{len(hidden):,} {more}characters"
    return f"… {size}{above}"
