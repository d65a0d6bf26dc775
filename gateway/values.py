"""Values: what the parts of the gateway hand each other, never changed once made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make a keyword-only dataclass with slots, which the type checker keeps anybody from changing.

    Python could refuse it, too, but then making one takes three times as long, and a message makes
    about seventy.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(kind)
