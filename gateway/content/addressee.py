"""Agent to which a text is addressed: `@NAME` at its very beginning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gateway.values import value

_END = r"(?![\w@-]|[.:/]\w)"
"""The end of a name: `@coder-2` and `@coder.py` are not for the coder."""
_NOTHING = " \t\r\n,:;."


@value
class Addressee:
    """An agent named first; `empty` without any words after it."""

    name: str
    empty: bool


def addressee_of(text: str, names: Iterable[str]) -> Addressee | None:
    """The one agent of these names to which the text is addressed.

    The longest name wins, then the one in the same capitals; between two that differ in capitals
    alone, and are written in neither way, nobody does.
    """
    if not text.startswith("@"):
        return None
    found = [name for name in dict.fromkeys(names) if name and _begins_with(text, name)]
    longest = [name for name in found if len(name) == max(map(len, found))]
    exact = [name for name in longest if text.startswith(name, 1)]
    match exact or longest:
        case [name]:
            return Addressee(name=name, empty=not text[1 + len(name) :].strip(_NOTHING))
        case _:
            return None


def as_mention(text: str) -> str:
    """Text whose leading `@NAME` is a person's, not an agent's."""
    return f" {text}"  # so it does not begin with a name, in an edit and after a restart, too


def _begins_with(text: str, name: str) -> bool:
    return re.match(f"@{re.escape(name)}{_END}", text, re.IGNORECASE) is not None
