"""Memories over a store: how it is asked, and the model told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from typing_extensions import override

from teams.core import CancellationToken, FunctionCall
from teams.memory import MemoryContent, MemoryMimeType
from teams.memory import _store as stores
from teams.memory._store import StoreMemory
from teams.model_context import UnboundedChatCompletionContext
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)


class Shelf(StoreMemory):
    """A store in memory, which a test may hold up."""

    store = "The shelf"

    def __init__(self) -> None:
        super().__init__("pytest")
        self.asked: list[str] = []
        self.kept: list[tuple[str, dict[str, Any]]] = []
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.inside = 0

    @override
    async def _find(self, text: str, options: dict[str, Any]) -> list[MemoryContent]:
        self.inside += 1
        assert self.inside == 1
        self.asked.append(text)
        self.begun.set()
        await self.open.wait()
        self.inside -= 1
        return [MemoryContent(content=each, mime_type="text/plain") for each, _ in self.kept]

    @override
    async def _keep(self, text: str, metadata: dict[str, Any]) -> None:
        self.kept.append((text, metadata))

    @override
    async def _delete_all(self) -> None:
        self.kept.clear()

    @override
    async def _leave(self) -> None:
        raise TimeoutError("of the store's own")


async def test_a_store_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stores, "SECONDS", 0.01)
    shelf = Shelf()
    shelf.open.clear()
    with pytest.raises(TimeoutError, match=r"The shelf has not answered within 0\.01 s"):
        await shelf.query("tea")
    with pytest.raises(TimeoutError, match="of the store's own"):
        await shelf.close()


async def test_requests_wait_for_each_other_and_end_with_their_token():
    shelf, token = Shelf(), CancellationToken()
    shelf.open.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(shelf.query("first"))
        second = asyncio.ensure_future(shelf.query("second", token))
        await shelf.begun.wait()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        shelf.open.set()
    assert first.result().results == []
    assert shelf.asked == ["first"]


async def test_an_entry_is_kept_with_its_type():
    shelf = Shelf()
    await shelf.add(
        MemoryContent(content={"a": 1}, mime_type=MemoryMimeType.JSON, metadata={"b": 2})
    )
    assert shelf.kept == [("{'a': 1}", {"b": 2, "mime_type": "application/json"})]
    await shelf.clear()
    assert shelf.kept == []


async def test_calls_have_no_words_and_results_have():
    shelf, context = Shelf(), UnboundedChatCompletionContext()
    call = FunctionCall(id="1", name="look", arguments="{}")
    await context.add_message(AssistantMessage(content=[call], source="a"))
    await shelf.update_context(context)
    result = FunctionExecutionResult(content="found", name="look", call_id="1", is_error=False)
    await context.add_message(FunctionExecutionResultMessage(content=[result]))
    await shelf.update_context(context)
    await context.add_message(UserMessage(content="quoted", source="memory-knowledge"))
    await shelf.update_context(context)
    assert shelf.asked == ["", "found", "found"]
