"""Code in messages: which messages count, its blocks, and their language."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from teams._base.code import CodeBlock
from teams._base.fences import fenced_blocks
from teams.conversable._messages import content_text
from teams.conversable._protocols import Message

_SHELL = re.compile(r"\s*(?:python3?|pip3?)\s")
UNKNOWN = "unknown"


def recent_messages(messages: Sequence[Message], last_n: object) -> list[Message]:
    """The messages that are searched for code, newest first.

    "auto" is those since the agent last spoke. ValueError for anything but that and a count.
    """
    match last_n:
        case int() if last_n >= 0:
            count = min(last_n, len(messages))
        case "auto":
            count = 0
            while count < len(messages) and messages[-1 - count].get("role") == "user":
                count += 1
        case _:
            raise ValueError(f"last_n_messages must be 'auto' or a count, not {last_n!r}.")
    return list(reversed(messages[len(messages) - count :]))


def newest_code(
    messages: Sequence[Message], extract: Callable[[Any], Sequence[Any]]
) -> Sequence[Any]:
    """The blocks of the first message that has any."""
    found = (extract(each["content"]) for each in messages if each.get("content"))
    return next((blocks for blocks in found if blocks), ())


def code_blocks_of(content: object) -> list[CodeBlock]:
    """The fenced blocks of a message's text."""
    text = content_text(content).replace("\r\n", "\n")
    return [CodeBlock(code.removesuffix("\n"), language) for language, code in fenced_blocks(text)]


def language_of(language: str, code: str) -> str:
    """The language, or the one that the code looks like."""
    if language:
        return language
    if _SHELL.match(code):
        return "sh"
    try:
        with warnings.catch_warnings(action="ignore"):  # remarks on a foreign text
            compile(code, "code", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deep
        return UNKNOWN
    return "python"
