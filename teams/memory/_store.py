"""Memories over a store that is searched with the newest message."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, TypeVar

from typing_extensions import override

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.extras import require_packages
from teams._base.workers import in_daemon_worker
from teams.memory._base import (
    Memory,
    MemoryContent,
    MemoryMimeType,
    MemoryQueryResult,
    UpdateContextResult,
    last_said,
)
from teams.model_context._contexts import ChatCompletionContext
from teams.models._types import LLMMessage, SystemMessage

T = TypeVar("T")

SECONDS = 60.0
"""A store's deadline; its first use may download a model."""


class StoreMemory(Memory):
    """Tells the model what its store finds for the newest message.

    One request to the store at a time, each with a deadline of 60 s. A subclass says how entries
    are found, kept, and deleted, and how the store is left; the next use opens it again.
    """

    store: ClassVar[str]
    heading: ClassVar[str] = "Relevant memory content:"
    refusal: ClassVar[type[Exception]] = ValueError
    """The error for a content that can't be stored."""

    def __init__(self, package: str) -> None:
        require_packages("This memory needs", package, package)
        self._turnstile = asyncio.Lock()

    @abstractmethod
    async def _find(self, text: str, options: dict[str, Any]) -> list[MemoryContent]: ...

    @abstractmethod
    async def _keep(self, text: str, metadata: dict[str, Any]) -> None: ...

    @abstractmethod
    async def _delete_all(self) -> None: ...

    @abstractmethod
    async def _leave(self) -> None: ...

    @staticmethod
    def _json_text(content: dict[str, Any]) -> str:
        return str(content)

    @override
    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        messages = await model_context.get_messages()
        said = last_said(messages)
        found = await self.query(_words(said)) if said else MemoryQueryResult(results=[])
        if found.results:
            lines = [f"{number}. {hit.content}" for number, hit in enumerate(found.results, 1)]
            text = f"\n{self.heading}\n" + "\n".join(lines) + "\n"
            await model_context.add_message(SystemMessage(content=text))
        return UpdateContextResult(memories=found)

    @override
    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """The hits, best first; options are the store's own."""
        text = query if isinstance(query, str) else self._text(query)
        found = await self._ask(self._find(text, kwargs), cancellation_token)
        return MemoryQueryResult(results=found)

    @override
    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Store a text, Markdown, or a dict as JSON; others are refused."""
        metadata = {**(content.metadata or {}), "mime_type": str(content.mime_type)}
        await self._ask(self._keep(self._text(content), metadata), cancellation_token)

    @override
    async def clear(self) -> None:
        await self._ask(self._delete_all())

    @override
    async def close(self) -> None:
        """Release the resources; nothing is deleted."""
        await self._ask(self._leave())

    async def _ask(self, work: Coroutine[Any, Any, T], token: CancellationToken | None = None) -> T:
        async def in_turn() -> T:
            async with self._turnstile:
                return await work

        scope = asyncio.timeout(SECONDS)
        try:
            async with scope:
                return await run_cancellable(in_turn(), token)
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise TimeoutError(f"{self.store} has not answered within {SECONDS:g} s.") from error
        finally:
            work.close()  # it may never have begun

    async def _in_worker(self, work: Callable[[], T]) -> T:
        return await in_daemon_worker(work, name=self.store)

    def _text(self, content: MemoryContent) -> str:
        match content.content, content.mime_type:
            case str() as text, MemoryMimeType.TEXT | MemoryMimeType.MARKDOWN:
                return text
            case dict() as table, MemoryMimeType.JSON:
                return self._json_text(table)
            case found, mime_type:
                raise self.refusal(
                    f"{self.store} holds texts, Markdown and JSON objects, found "
                    f"{type(found).__name__} as {str(mime_type)!r}."
                )


def model_error(model: str) -> RuntimeError:
    """The error for an embedding model that can't be loaded."""
    return RuntimeError(
        f"The embedding model {model!r} can't be used: it needs its package, and its first use "
        "downloads it. Give the memory an embedding function of your own, or a server's model."
    )


def _words(message: LLMMessage) -> str:
    """The text of a message; its images have none."""
    content = message.content
    if isinstance(content, str):
        return content
    return " ".join(
        part if isinstance(part, str) else getattr(part, "content", "") for part in content
    )
