"""Memories as tables of config.toml."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from teams._base.kinds import Item, Kind, OwnPart, Part
from teams._base.meanings import Always, Given
from teams._base.tables import shorthand


class MemoryEntry(Item):
    """One thing remembered. A text is short for its `content`."""

    made_by: ClassVar = "teams.memory:MemoryContent"

    content: str
    """Text of the entry."""

    mime_type: str = "text/plain"
    """Media type of the text."""

    metadata: Annotated[dict[str, Any], Always()] = Field(default_factory=dict)
    """Notes about it."""


class ListMemoryKind(Part):
    """A memory that tells the model all of its contents."""

    kind: ClassVar = Kind("memory", "contents", "teams.memory:ListMemory")

    contents: Annotated[
        list[Annotated[MemoryEntry, shorthand("content")]], Given("memory_contents")
    ]
    """Entries that it starts with: texts, or tables."""

    name: str | None = None
    """Its name."""


class OwnMemoryKind(OwnPart):
    """A memory of your own.

    `"package.module:Class"` is short for its `path`.
    """

    kind: ClassVar = Kind("memory", "path", "teams.memory:Memory")
