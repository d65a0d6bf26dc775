"""Patterns that operators write, matched in linear time by RE2."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2  # pyright: ignore[reportMissingTypeStubs]

_RE2: Any = re2  # it has no types
_OPTIONS = _RE2.Options()
_OPTIONS.log_errors = False  # what is wrong is raised


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
    try:
        return _RE2.compile(pattern, _OPTIONS)
    except _RE2.error as error:
        reason = error.args[0]
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(said) from error
