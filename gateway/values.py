"""Values that the parts of the gateway exchange; they never change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make a keyword-only dataclass with slots, read-only for the type checker.

    Python could refuse it, too, but then making one takes three times as long, and a message makes
    about seventy.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(kind)
