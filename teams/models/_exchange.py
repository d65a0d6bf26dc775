"""One exchange with a provider: its deadline, its stream, its events."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from teams._base.telemetry import LLMCallEvent, LLMStreamEndEvent, LLMStreamStartEvent, events
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import BadAnswer, ModelError, ModelTimeout
from teams.models._types import CreateResult, Wire

PieceT = TypeVar("PieceT", str, bytes)


class Deadline:
    """The end of an answer's time, its reader's time not counted."""

    __slots__ = ("_endpoint", "_ends", "_now", "_seconds")

    def __init__(self, endpoint: ModelEndpoint, seconds: float) -> None:
        self._endpoint = endpoint
        self._seconds = seconds
        self._now = asyncio.get_running_loop().time
        self._ends = self._now() + seconds

    def check(self) -> None:
        """Raise ModelTimeout if the time is over."""
        if self._now() > self._ends:
            raise self._too_slow()

    def now(self) -> float:
        """The time, for `resume`, at which the reader gets a piece."""
        return self._now()

    def resume(self, since: float) -> None:
        """Go on after the reader has taken a piece."""
        self._ends += self._now() - since

    @asynccontextmanager
    async def limit(self) -> AsyncGenerator[None]:
        """Raise ModelTimeout when the time is over."""
        try:
            async with asyncio.timeout_at(self._ends):
                yield
        except TimeoutError:
            raise self._too_slow() from None

    def _too_slow(self) -> ModelError:
        what = f"The model's answer took longer than {self._seconds:g} s"
        return self._endpoint.failure(ModelTimeout, what)


@asynccontextmanager
async def closing_response(
    response: Any, pieces: AsyncIterator[PieceT]
) -> AsyncGenerator[AsyncIterator[PieceT]]:
    """The pieces of an open `httpx` response; leaving closes its connection."""
    try:
        yield pieces
    finally:
        await response.aclose()
        # The generators below end by the closed connection; dropped, each would need a task.
        with suppress(Exception):
            while True:
                await anext(pieces)


def parse_json(text: str | bytes) -> Any:
    """The JSON value; ValueError or BadAnswer for what is none."""
    try:
        return json.loads(text)
    except RecursionError:
        raise BadAnswer("The answer is nested too deeply") from None


def log_call(messages: list[Wire], response: Any, result: CreateResult) -> None:
    """Tell the event log of an answer."""
    if events.isEnabledFor(logging.INFO):
        events.info(LLMCallEvent(messages=messages, response=response, **_tokens(result)))


def log_stream_start(messages: list[Wire]) -> None:
    """Tell the event log of a streamed answer's beginning."""
    if events.isEnabledFor(logging.INFO):
        events.info(LLMStreamStartEvent(messages=messages))


def log_stream_end(result: CreateResult) -> None:
    """Tell the event log of a streamed answer's end."""
    if events.isEnabledFor(logging.INFO):
        response = result.model_dump(mode="json")
        events.info(LLMStreamEndEvent(response=response, **_tokens(result)))


async def nothing_to_settle() -> None:
    """A cancelled answer leaves nothing behind."""


def _tokens(result: CreateResult) -> Wire:
    usage = result.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }
