"""Memories as tables of config.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import override

from teams._base.kinds import Item, Kind, Maker, OwnPart, Part
from teams._base.meanings import Given
from teams._base.tables import shorthand

if TYPE_CHECKING:
    from teams.memory._base import MemoryContent


class MemoryEntry(Item):
    """One thing remembered. A text is short for its `content`."""

    content: str
    """Text of the entry."""

    mime_type: str = "text/plain"
    """Media type of the text."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    """Notes about it."""

    @override
    async def build(self, maker: Maker, **more: Any) -> MemoryContent:
        from teams.memory._base import MemoryContent  # the engine's

        return MemoryContent(**self.model_dump())


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
