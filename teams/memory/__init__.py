"""Memories: what an agent knows from before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams.memory._base import (
        Memory,
        MemoryContent,
        MemoryMimeType,
        MemoryQueryResult,
        UpdateContextResult,
    )
    from teams.memory._list import ListMemory

__all__ = [
    "ListMemory",
    "Memory",
    "MemoryContent",
    "MemoryMimeType",
    "MemoryQueryResult",
    "UpdateContextResult",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams.memory._base": (
                "Memory",
                "MemoryContent",
                "MemoryMimeType",
                "MemoryQueryResult",
                "UpdateContextResult",
            ),
            "teams.memory._list": ("ListMemory",),
        },
    )
