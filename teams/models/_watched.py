"""Requests to models as the `ModelWatch` of a run sees them, for every client there is.

A client may ask through another one (a cache, a fallback): the innermost request is the one that
costs something. Without a watch nothing is added to a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from teams._model_watch import ModelRequest, ModelWatch
from teams._run.hooks import current_hooks
from teams.models._types import CreateResult, LLMMessage

if TYPE_CHECKING:
    from types import CoroutineType

    from teams.models._client import ChatCompletionClient

Create = Callable[..., "CoroutineType[Any, Any, CreateResult]"]
CreateStream = Callable[..., AsyncGenerator[str | CreateResult, None]]

BYTES_PER_TOKEN = 4
"""About how much text a token stands for, in UTF-8."""


class _Request:
    """One request, and whether it was made by asking another client."""

    def __init__(self, watch: ModelWatch, request: ModelRequest) -> None:
        self._watch = watch
        self._request = request
        self._outer = _CURRENT.get()
        self._answered_by_another = False
        self._open = False

    async def begin(self) -> None:
        """Ask the watch."""
        if self._outer is not None:
            self._outer.end(None)
        await self._watch.asks(self._request)
        self._open = True

    def answered(self, result: CreateResult) -> None:
        if self._outer is not None:
            self._outer._answered_by_another = True
        if self._answered_by_another or result.cached:
            self.end(None)
            return
        self._open = False
        self._watch.answered(self._request, result.usage)

    def end(self, written: int | None) -> None:
        """There is no answer that counts; see `ModelWatch.ended`."""
        if self._open:
            self._open = False
            self._watch.ended(self._request, written=written)


_CURRENT: ContextVar[_Request | None] = ContextVar("teams_model_request", default=None)


def watched(create: Create) -> Create:
    """A client's `create` that tells the watch of the run it is part of."""

    @wraps(create)
    async def seen(self: ChatCompletionClient, *args: Any, **kwargs: Any) -> CreateResult:
        if (watch := current_hooks().model) is None:
            return await create(self, *args, **kwargs)
        request = _Request(watch, _described(self, *args, **kwargs))
        await request.begin()
        token = _CURRENT.set(request)
        written: int | None = None
        try:
            result = await create(self, *args, **kwargs)
            request.answered(result)
        except asyncio.CancelledError:
            written = 0  # nobody knows how far it was, but it was asked
            raise
        finally:
            _CURRENT.reset(token)
            request.end(written)
        return result

    return seen


def watched_stream(create_stream: CreateStream) -> CreateStream:
    """A client's `create_stream` that tells the watch of the run it is part of."""

    @wraps(create_stream)
    def seen(
        self: ChatCompletionClient, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        stream = create_stream(self, *args, **kwargs)
        watch = current_hooks().model
        if watch is None:
            return stream
        return _pieces(_Request(watch, _described(self, *args, **kwargs)), stream)

    return seen


async def _pieces(
    request: _Request, stream: AsyncGenerator[str | CreateResult, None]
) -> AsyncGenerator[str | CreateResult, None]:
    length: int | None = None
    async with aclosing(stream):
        await request.begin()
        try:
            while True:
                # Set for the one step: over a yield, the consumer would have it, too.
                token = _CURRENT.set(request)
                try:
                    piece = await anext(stream)
                except StopAsyncIteration:
                    return
                finally:
                    _CURRENT.reset(token)
                if isinstance(piece, CreateResult):
                    request.answered(piece)
                else:
                    length = (length or 0) + len(piece.encode(errors="replace"))
                yield piece
        except (asyncio.CancelledError, GeneratorExit):
            length = length or 0  # it was asked
            raise
        finally:
            request.end(None if length is None else -(-length // BYTES_PER_TOKEN))


def _described(
    client: ChatCompletionClient, messages: Sequence[LLMMessage], **arguments: Any
) -> ModelRequest:
    return ModelRequest(
        client=client,
        messages=messages,
        tools=arguments.get("tools", ()),
        extra=arguments.get("extra_create_args", {}),
    )
