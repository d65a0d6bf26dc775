"""A memory in an operator's store, as a table of config.toml."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams.kinds import Kind, Maker, Part


class StoreMemoryKind(Part):
    """A memory in a store of yours, in parts for each scope.

    The agent gets the tool `remember`, unless it has it already, and is told the best matches.
    """

    kind: ClassVar = Kind("memory", "chromadb", "gateway.factory.store_memory:ScopedMemory")

    type: Literal["chromadb", "redis", "mem0"]
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
        return maker.load(self.kind.made_by)(maker.name, self, maker.function)
