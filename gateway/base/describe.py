"""Errors in words, for logs and reasons."""

from __future__ import annotations

_OURS = frozenset({"adapters", "gateway", "teams"})


def describe(error: BaseException) -> str:
    """The error in words, never empty.

    Our own are sentences; others say little without their type, and many have no text at all.
    """
    kind, text = type(error), str(error).strip()
    if not text:
        return kind.__name__
    return text if kind.__module__.partition(".")[0] in _OURS else f"{kind.__name__}: {text}"
