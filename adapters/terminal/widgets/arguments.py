"""Arguments of a tool call: values in a line, texts as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from textual.content import Content
from textual.widgets import Static

from gateway.render.arguments import Argument, code_parts, size_text

CARD_LINES = 40
"""Lines of a text on a card; a screen of its own has them all."""
CHUNK = 50
"""Lines of one widget: a long text is several."""
COLOURED = 200_000
"""Characters of a text that is coloured, and of one line of it: a longer one would hold up keys."""
COLOURED_LINE = 2_000
TAB = 8
IN_LINE = ("value", "note")
"""Kinds of arguments that are one line."""
MUTED = "$muted"


class ArgumentText(Static):
    """Lines of a text, behind a bar that no text can draw."""


def card_widgets(arguments: Sequence[Argument]) -> Iterator[Static]:
    """The arguments on a card: of a long text, its first lines."""
    for argument in arguments:
        yield heading(argument)
        if argument.kind in IN_LINE:
            continue
        lines = argument.text.removesuffix("\n").split("\n")
        if len(lines) <= CARD_LINES:
            yield ArgumentText(coloured(argument.text, argument))
            continue
        yield ArgumentText(coloured("\n".join(lines[:CARD_LINES]), argument))
        more = f"\u2026 {len(lines) - CARD_LINES:,} more lines, enter opens all of them"
        yield Static(Content.styled(more, "$primary"))


def heading(argument: Argument) -> Static:
    """The argument's name, with its value or its number of lines."""
    match argument.kind:
        case "value":
            content = Content.assemble((argument.name, "bold $primary"), f": {argument.text}")
        case "note":
            content = Content.styled(argument.text, "$warning")
        case "text" | "diff":
            name = argument.name or "all arguments"
            size = (f"  {size_text(argument)}", MUTED)
            content = Content.assemble((name, "bold $primary"), size)
    return Static(content, classes="argument")


def text_chunks(argument: Argument) -> list[Content]:
    """The whole text, cut into pieces of some lines each."""
    content = coloured(argument.text, argument)
    lines = content.plain.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))[CHUNK - 1 : -1 : CHUNK]
    pieces = content.divide(ends) if ends else [content]
    return [piece[:-1] if piece.plain.endswith("\n") else piece for piece in pieces]


def coloured(text: str, argument: Argument) -> Content:
    """The text in the colours of its language, if known."""
    text = text.removesuffix("\n").expandtabs(TAB)
    if len(text) > COLOURED or max(map(len, text.split("\n"))) > COLOURED_LINE:
        return Content(text)
    if argument.kind == "diff":
        return diff_colours(text)
    if argument.language:
        return _highlighted(text, argument.language)
    parts = [
        _highlighted(part, language) if language else part for part, language in code_parts(text)
    ]
    return Content.assemble(*parts)


def diff_colours(text: str) -> Content:
    """A diff in red and green."""
    return Content("\n").join(_changed(line) for line in text.split("\n"))


def _changed(line: str) -> Content:
    """A line of a diff: red, green, or as it is."""
    match line[:1]:
        case "+":
            return Content.styled(line, "$text-success on $success-muted")
        case "-":
            return Content.styled(line, "$text-error on $error-muted")
        case "@" | "\\":
            return Content.styled(line, MUTED)
        case _:
            return Content(line)


def _highlighted(text: str, language: str) -> Content:
    from textual.highlight import highlight  # not at the start

    content = highlight(text, language=language, tab_size=TAB)
    lost = text[len(content.plain) :]  # it drops the line end of the last line
    return Content.assemble(content, lost) if lost else content
