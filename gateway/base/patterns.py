"""Patterns that operators write, matched in linear time by RE2."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any


def check_pattern(pattern: str) -> None:
    """Raise ValueError for what is no pattern of RE2.

    RE2 has neither look-around nor back-references: https://github.com/google/re2/wiki/Syntax
    """
    _compile(pattern)


def matches_whole(pattern: str, text: str) -> bool:
    """True if the whole text fits the pattern. Raises ValueError as `check_pattern`."""
    readable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _compile(pattern).fullmatch(readable) is not None


@lru_cache(maxsize=256)
def _compile(pattern: str) -> Any:
    re2: Any = import_module("re2")  # for start-up: few configs have patterns; it has no types
    options = re2.Options()
    options.log_errors = False  # what is wrong is raised
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(said) from error
