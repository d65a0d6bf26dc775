"""A memory that learns from advice in the user's text."""

from typing import Any

from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams.experimental.task_centric_memory._asking import recalled
from teams.experimental.task_centric_memory._controller import MemoryController
from teams.memory._base import (
    Memory,
    MemoryContent,
    MemoryMimeType,
    MemoryQueryResult,
    last_said,
)
from teams.memory._base import UpdateContextResult as Update
from teams.model_context._contexts import TOLD, ChatCompletionContext
from teams.models._types import UserMessage


class Teachability(Memory):
    """Recalls what helps with the last message, and keeps its advice.

    Somebody once said what is recalled: it reaches the model between marks.
    """

    def __init__(self, memory_controller: MemoryController, name: str | None = None) -> None:
        self._controller = memory_controller
        self.name = name or "teachability"

    @override
    async def update_context(self, model_context: ChatCompletionContext) -> Update:
        last = last_said(await model_context.get_messages())
        said = last.content if isinstance(last, UserMessage) else ""
        text = said if isinstance(said, str) else "\n".join(p for p in said if isinstance(p, str))
        found = MemoryQueryResult(results=[])
        if text.strip():
            # In this order: the message's own advice need not be recalled.
            found = await self.query(text)
            await self._controller.consider_memo_storage(text)
        if found.results:
            notes = recalled([str(each.content) for each in found.results])
            await model_context.add_message(
                UserMessage(content=notes, source=f"{TOLD}teachability")
            )
        return Update(memories=found)

    @override
    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Insights that help with the text."""
        memos = await self._controller.retrieve_relevant_memos(_text(query))
        kind = MemoryMimeType.TEXT
        results = [MemoryContent(content=memo.insight, mime_type=kind) for memo in memos]
        return MemoryQueryResult(results=results)

    @override
    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Keep the advice in the text, if there is any."""
        await self._controller.consider_memo_storage(_text(content))

    @override
    async def clear(self) -> None:
        self._controller.reset_memory()

    @override
    async def close(self) -> None:
        pass


def _text(given: str | MemoryContent) -> str:
    content = given if isinstance(given, str) else given.content
    if not isinstance(content, str | dict):
        raise ValueError(f"Teachability takes text, found {type(content).__name__}.")
    return str(content)
