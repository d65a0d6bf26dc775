"""Memories as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kinds import Item, Kind, Maker, OwnPart, Part, Want, if_set, wants_at
from teams._base.meanings import Always, Given
from teams._base.tables import shorthand

SENTENCE_MODELS = "https://huggingface.co"
"""Server that models of `sentence-transformers` are downloaded from."""


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


class StoreKind(Part):
    """A memory in a store of yours, in parts for each scope.

    The agent gets the tool `remember`, unless it has it already, and sees the best matches.
    """

    part: ClassVar[tuple[str, str]]
    """The option that names a part, and its usual value."""

    type: str
    """Kind of store."""

    scope: Literal["thread", "person", "team", "workspace"] = "person"
    """People who share a part, as in [teams.NAME.memory]."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Settings of the store, as its class in Python takes them.

    The name of a part, `collection_name`, `index_name` or `user_id`, is followed by a hash. The
    `function` of a custom embedding is an import path.
    """

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        return await maker.make(self, **more)


def wants_redis(scheme: str, host: str, port: int, *, given: bool) -> Iterator[Want]:
    """A server, and the variable with its password unless one is given."""
    shown = f"[{host}]" if ":" in host else host
    return wants_at(f"{scheme}://{shown}:{port}", "" if given else if_set("REDIS_PASSWORD"))
