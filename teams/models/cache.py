"""A model client that remembers answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import cached_property, partial
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, Unpack, cast

from pydantic import BaseModel, ValidationError
from typing_extensions import override

from teams._base.workers import in_daemon_worker
from teams._components.component import Component, ComponentModel, is_component_instance
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.cache_store._base import CacheStore, InMemoryStore
from teams.models._client import Asking, ChatCompletionClient
from teams.models._types import CreateResult, LLMMessage, ModelInfo, RequestUsage

CHAT_CACHE_VALUE_TYPE: TypeAlias = CreateResult | list[str | CreateResult]
"""A cached value: an answer, or the pieces of a streamed one with the whole as the last."""

T = TypeVar("T")
R = TypeVar("R")

STORE_SECONDS = 10.0
"""Deadline of a store that asks a server."""

logger = logging.getLogger("teams")


class KeptAnswers(Generic[T]):
    """Answers in a store, whose failures are logged."""

    def __init__(self, store: CacheStore[T]) -> None:
        self._store = store

    async def load(self, key: str) -> T | None:
        """The answer under the key, if the store has it."""
        return await self._ask(partial(self._store.get, key), "read")

    async def keep(self, key: str, answer: T) -> None:
        """Keep an answer under the key."""
        await self._ask(partial(self._store.set, key, answer), "written")

    async def _ask(self, ask: Callable[[], R], what: str) -> R | None:
        try:
            if not self._store.waits:
                return ask()
            async with asyncio.timeout(STORE_SECONDS):
                return await in_daemon_worker(ask, name="cache of model answers")
        except Exception as error:
            logger.warning("The cache of model answers could not be %s: %r", what, error)
            return None


class ChatCompletionCacheConfig(BaseModel, defer_build=True):
    """See `ChatCompletionCache`."""

    client: Annotated[ComponentModel, ChatCompletionClient]
    store: Annotated[ComponentModel | None, CacheStore] = None


class ChatCompletionCache(ChatCompletionClient, Component[ChatCompletionCacheConfig]):
    """Asks `client` only new questions, and keeps its answers in `store`.

    A request is known by all that makes it: the client's settings, messages, tools, format and
    extra arguments. An answer from the store says so by `cached`, whether it was streamed or not
    when it was given. By default the store is in memory and private. A store that fails is logged
    and costs no answer.
    """

    component_config_schema = ChatCompletionCacheConfig

    def __init__(
        self,
        client: ChatCompletionClient,
        store: CacheStore[CHAT_CACHE_VALUE_TYPE] | None = None,
    ) -> None:
        self._client = client
        self._store = InMemoryStore[CHAT_CACHE_VALUE_TYPE]() if store is None else store
        self._kept = KeptAnswers(self._store)
        self._saved = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @override
    async def create(self, messages: Sequence[LLMMessage], **asked: Unpack[Asking]) -> CreateResult:
        """The remembered answer, or the client's."""
        key = self._key(messages, asked)
        if (found := pieces_of(await self._kept.load(key))) is not None:
            return self._count_usage(found[-1])
        result = await self._client.create(messages, **asked)
        await self._kept.keep(key, result)
        return result

    @override
    async def create_stream(
        self, messages: Sequence[LLMMessage], **asked: Unpack[Asking]
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the stored answer's pieces, or the client's; complete answers are stored."""
        key = self._key(messages, asked)
        if (found := pieces_of(await self._kept.load(key))) is not None:
            *pieces, result = found
            for piece in pieces:
                yield piece
            yield self._count_usage(result)
            return
        stream = self._client.create_stream(messages, **asked)
        pieces = list[str | CreateResult]()
        async with aclosing(stream):
            async for piece in stream:
                if piece:  # a thought is in the result
                    pieces.append(piece)
                if isinstance(piece, CreateResult):
                    await self._kept.keep(key, pieces)
                yield piece

    @override
    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    @override
    def actual_usage(self) -> RequestUsage:
        """Usage of the requests that reached the client."""
        return self._client.actual_usage()

    @override
    def total_usage(self) -> RequestUsage:
        """The same, and what remembered answers took when they were given."""
        asked = self._client.total_usage()
        return asked + self._saved

    @override
    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        return self._client.count_tokens(messages, tools=tools)

    @override
    def left_out(self, tools: Sequence[Tool | ToolSchema]) -> Sequence[str]:
        return self._client.left_out(tools)

    @override
    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        return self._client.remaining_tokens(messages, tools=tools)

    @property
    @override
    def max_output_tokens(self) -> int | None:
        return self._client.max_output_tokens

    @property
    @override
    def model_info(self) -> ModelInfo:
        return self._client.model_info

    def _count_usage(self, result: str | CreateResult) -> CreateResult:
        found = cast("CreateResult", result)
        self._saved += found.usage
        return found.model_copy(update={"cached": True})

    def _key(self, messages: Sequence[LLMMessage], asked: Asking) -> str:
        choice, form = asked.get("tool_choice", "auto"), asked.get("json_output")
        request = {
            "client": self._identity,
            "messages": [message.model_dump(mode="json") for message in messages],
            "tools": [_schema(tool) for tool in asked.get("tools", ())],
            "tool_choice": choice if isinstance(choice, str) else _schema(choice),
            "json_output": form.model_json_schema() if isinstance(form, type) else form,
            "extra": dict(asked.get("extra_create_args", {})),
        }
        text = json.dumps(request, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _identity(self) -> Any:
        """The values that separate this client's answers in a shared store."""
        client = self._client
        if is_component_instance(client):
            try:
                return client.dump_component().model_dump(mode="json")
            except (NotImplementedError, TypeError):
                pass  # it holds something that cannot be written down
        return type(client).__qualname__


def _schema(tool: Tool | ToolSchema) -> ToolSchema:
    return tool if isinstance(tool, dict) else tool.schema


def pieces_of(value: Any) -> list[str | CreateResult] | None:
    """A stored value as pieces of a stream; None for foreign values."""
    pieces = cast("list[Any]", value) if isinstance(value, list) else [value]
    match pieces:
        case [*texts, CreateResult() as result] if all(isinstance(text, str) for text in texts):
            if not texts and isinstance(result.content, str) and result.content:
                return [result.content, result]
            return [*texts, result]
        case [*texts, dict()]:  # a store that keeps JSON
            try:
                return pieces_of([*texts, CreateResult.model_validate(pieces[-1])])
            except ValidationError:
                return None
        case _:
            return None


__all__ = ["CHAT_CACHE_VALUE_TYPE", "ChatCompletionCache", "ChatCompletionCacheConfig"]
