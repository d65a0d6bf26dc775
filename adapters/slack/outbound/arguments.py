"""A tool call's arguments as Slack's blocks, or as a file. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from adapters.slack.action_ids import Block, section
from adapters.slack.outbound.text import length
from gateway.render.arguments import Argument, plain_text, size_text

ON_CARD = 8_000
"""Characters of a tool's arguments on the card itself; more of them come as a file."""
MOST_BLOCKS = 30
"""Slack takes 50 in a message: https://docs.slack.dev/reference/block-kit/blocks"""
PIECE = 2900
VALUES = 2000
"""Characters of the values that stand on a card whose texts are in a file."""


def is_too_long(arguments: Sequence[Argument]) -> bool:
    """True if the arguments are too long for a card."""
    return length(plain_text(arguments)) > ON_CARD or len(argument_blocks(arguments)) > MOST_BLOCKS


def argument_blocks(arguments: Sequence[Argument]) -> list[Block]:
    """All arguments: values together, each text under its name."""
    blocks: list[Block] = []
    for kind, group in groupby(arguments, key=lambda each: each.kind):
        match kind:
            case "value":
                blocks += _code(plain_text(group))
            case "note":
                blocks += [section(argument.text) for argument in group]
            case _:
                for argument in group:
                    blocks += _text(argument)
    return blocks or [section("No arguments.")]


def blocks_beside_file(arguments: Sequence[Argument], name: str) -> list[Block]:
    """The values of a call whose texts are in a file."""
    values = plain_text(each for each in arguments if each.kind == "value")
    long = [each for each in arguments if each.kind in ("text", "diff") and each.name]
    told = [f"`{each.name}` ({size_text(each)})" for each in long[:5]]
    whole = f"All arguments are in {name} above. Read all of it."
    blocks = _code(values) if 0 < length(values) <= VALUES else []
    notes = [section(each.text) for each in arguments if each.kind == "note"]
    return [*notes, *blocks, section(f"{', '.join(told)}: {whole}" if told else whole)]


def _text(argument: Argument) -> list[Block]:
    name = [section(f"`{argument.name}` \u00b7 {size_text(argument)}")] if argument.name else []
    return [*name, *_code(argument.text)]


def _code(text: str) -> list[Block]:
    return [
        {
            "type": "rich_text",
            "elements": [
                {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": piece}]}
            ],
        }
        for piece in _pieces(text)
    ]


def _pieces(text: str) -> Iterator[str]:
    """The text, cut at its lines where that is possible."""
    while text:
        piece = text[:PIECE]
        while length(piece) > PIECE:
            piece = piece[: len(piece) // 2]
        if len(piece) < len(text) and (end := piece.rfind("\n") + 1):
            piece = piece[:end]
        yield piece
        text = text[len(piece) :]
