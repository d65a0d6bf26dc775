"""Requests to models as the `ModelWatch` of a run sees them, for every client there is.

A client may ask through another one (a cache, a fallback): the innermost request is the one that
costs something. Without a watch nothing is added to a request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from teams._hooks import ModelWatch, current_hooks
from teams.models._types import CreateResult

if TYPE_CHECKING:
    from types import CoroutineType

    from teams.models._client import ChatCompletionClient

Create = Callable[..., "CoroutineType[Any, Any, CreateResult]"]
CreateStream = Callable[..., AsyncGenerator[str | CreateResult, None]]


class _Request:
    """One request, and whether it was made by asking another client."""

    def __init__(self, client: ChatCompletionClient, watch: ModelWatch) -> None:
        self._client = client
        self._watch = watch
        self._outer = _CURRENT.get()
        self._passed_on = False
        watch.asks(client)

    def answered(self, result: CreateResult) -> None:
        if self._outer is not None:
            self._outer._passed_on = True
        if not (self._passed_on or result.cached):
            self._watch.answered(self._client, result.usage)


_CURRENT: ContextVar[_Request | None] = ContextVar("teams_model_request", default=None)


def watched(create: Create) -> Create:
    """A client's `create` that tells the watch of the run it is part of."""

    @wraps(create)
    async def seen(self: ChatCompletionClient, *args: Any, **kwargs: Any) -> CreateResult:
        if (watch := current_hooks().model) is None:
            return await create(self, *args, **kwargs)
        request = _Request(self, watch)
        token = _CURRENT.set(request)
        try:
            result = await create(self, *args, **kwargs)
        finally:
            _CURRENT.reset(token)
        request.answered(result)
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
        return stream if watch is None else _pieces(self, watch, stream)

    return seen


async def _pieces(
    client: ChatCompletionClient,
    watch: ModelWatch,
    stream: AsyncGenerator[str | CreateResult, None],
) -> AsyncGenerator[str | CreateResult, None]:
    async with aclosing(stream):
        request = _Request(client, watch)
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
            yield piece
