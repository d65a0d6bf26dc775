"""Memories: what an agent knows from before."""

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
