"""Values that the parts of the gateway exchange; they never change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, dataclass_transform

T = TypeVar("T")

Folders: TypeAlias = tuple[tuple[str, str], ...]
"""Names of arguments, each with a folder below a thread's work folder; "" is that itself."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make a keyword-only dataclass with slots, read-only for the type checker.

    Python could refuse it, too, but then making one takes three times as long, and a message makes
    about seventy.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(kind)


@value
class ArgumentDiff:
    """The change that arguments make, as lines of a diff.

    It stands in the place of these `arguments`; without any, it is the change of the tool. Without
    `lines` they are shown as they are, and `note` says why.
    """

    arguments: tuple[str, ...] = ()
    lines: str = ""
    note: str = ""
