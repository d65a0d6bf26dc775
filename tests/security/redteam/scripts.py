"""Scripts of the model: its answers to texts that name them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Say:
    """A text, streamed in pieces of so many characters."""

    text: str
    piece: int = 40


@dataclass(frozen=True)
class Use:
    """A tool call; `arguments` may be JSON for the wire."""

    tool: str
    arguments: Mapping[str, Any] | str

    @property
    def wire(self) -> str:
        """The arguments on the wire."""
        given = self.arguments
        return given if isinstance(given, str) else json.dumps(given)


@dataclass(frozen=True)
class Calls:
    """Very many calls of a tool without arguments, in one answer."""

    tool: str
    count: int


@dataclass(frozen=True)
class Claim:
    """A short text said to have cost `count` tokens, as JSON."""

    count: str


Step: TypeAlias = Say | Use | Calls | Claim
Scripts: TypeAlias = Mapping[str, Sequence[Step]]


def named(script: str) -> str:
    """The word in a person's text that names a script."""
    return f"!{script}!"
