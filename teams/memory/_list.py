"""A memory that is a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._components.component import Component
from teams.memory._base import Memory, MemoryContent, MemoryQueryResult, UpdateContextResult
from teams.model_context._contexts import ChatCompletionContext
from teams.models._types import SystemMessage


class ListMemoryConfig(BaseModel, defer_build=True):
    """The config of a list memory."""

    name: str | None = None
    memory_contents: list[MemoryContent] = []


class ListMemory(Memory, Component[ListMemoryConfig]):
    """Remembers everything, and tells the model in one system message."""

    component_config_schema = ListMemoryConfig

    def __init__(
        self, name: str | None = None, memory_contents: Sequence[MemoryContent] | None = None
    ) -> None:
        self._name = name or "default_list_memory"
        self._memory_contents = list(memory_contents or ())

    @property
    def name(self) -> str:
        """The memory's name."""
        return self._name

    @property
    def content(self) -> list[MemoryContent]:
        """Everything remembered, oldest first."""
        return self._memory_contents

    @content.setter
    def content(self, value: Sequence[MemoryContent]) -> None:
        self._memory_contents = list(value)

    @override
    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        if self._memory_contents:
            lines = [
                f"{number}. {memory.content}"
                for number, memory in enumerate(self._memory_contents, start=1)
            ]
            text = "\nRelevant memory content (in chronological order):\n" + "\n".join(lines) + "\n"
            await model_context.add_message(SystemMessage(content=text))
        return UpdateContextResult(memories=await self.query())

    @override
    async def query(
        self,
        query: str | MemoryContent = "",
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Everything, whatever the query."""
        return MemoryQueryResult(results=list(self._memory_contents))

    @override
    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        self._memory_contents.append(content)

    @override
    async def clear(self) -> None:
        self._memory_contents.clear()

    @override
    async def close(self) -> None:
        pass
