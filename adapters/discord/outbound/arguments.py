"""A tool call's arguments as code blocks, or as a file. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from adapters.discord.connection.message_body import length
from adapters.discord.connection.rest import Upload
from gateway.render.arguments import Argument, plain_text, size_text

ON_CARD = 1100
"""Characters of arguments that a card shows itself; longer ones are a file."""
VALUES = 600
"""Characters of the values that stand on a card whose texts are in a file."""
FENCE = "```"


def show_arguments(arguments: Sequence[Argument]) -> tuple[str, tuple[Upload, ...]]:
    """All arguments as Markdown, or as a file beside the short ones."""
    shown = _blocks(arguments) or "-# No arguments."
    whole = plain_text(arguments)
    if length(shown) <= ON_CARD and FENCE not in whole:
        return shown, ()
    values = plain_text(each for each in arguments if each.kind == "value")
    beside = _fenced(values) if 0 < length(values) <= VALUES and FENCE not in values else ""
    long = [each for each in arguments if each.kind in ("text", "diff") and each.name]
    told = ", ".join(f"`{each.name}` ({size_text(each)})" for each in long[:5])
    line = "-# All arguments are in the file below. Read all of it."
    file = Upload(name="arguments.txt", data=whole.encode("utf-8", "replace"))
    notes = [f"-# {each.text}" for each in arguments if each.kind == "note"]
    return "\n".join(filter(None, (*notes, beside, told, line))), (file,)


def _blocks(arguments: Sequence[Argument]) -> str:
    blocks: list[str] = []
    for kind, group in groupby(arguments, key=lambda each: each.kind):
        match kind:
            case "value":
                blocks.append(_fenced(plain_text(group)))
            case "note":
                blocks += [f"-# {argument.text}" for argument in group]
            case _:
                for argument in group:
                    blocks += _text(argument)
    return "\n".join(blocks)


def _text(argument: Argument) -> list[str]:
    language = "diff" if argument.kind == "diff" else argument.language
    name = [f"`{argument.name}` \u00b7 {size_text(argument)}"] if argument.name else []
    return [*name, _fenced(argument.text, language)]


def _fenced(text: str, language: str = "") -> str:
    return f"{FENCE}{language}\n{text.removesuffix(chr(10))}\n{FENCE}"
