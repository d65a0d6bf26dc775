"""A model client that asks other models while one is not available."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, Unpack, runtime_checkable

from pydantic import BaseModel, Field
from typing_extensions import override

from teams._components.component import Component, ComponentModel
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import MODEL_WATCH, Asking, ChatCompletionClient
from teams.models._course import Course, Member, resting_last
from teams.models._errors import BadAnswer, ModelError
from teams.models._outgoing import lacking
from teams.models._types import CreateResult, LLMMessage, ModelInfo, RequestUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """An answer of another model than the first; models by their names."""

    missed: str
    answered: str
    because: type[ModelError]


@runtime_checkable
class SubstitutionWatch(Protocol):
    """A `ModelWatch` that is also told when another model has answered."""

    def after_substitution(self, substitution: Substitution) -> None:
        """Another model than the first has answered."""
        ...


class FallbackChatCompletionClientConfig(BaseModel, defer_build=True):
    """See `FallbackChatCompletionClient`."""

    clients: list[Annotated[ComponentModel, ChatCompletionClient]] = Field(min_length=1)
    attempts: int = Field(default=1, ge=1)
    max_wait: float = Field(default=20.0, ge=0)
    names: list[str] | None = None


class FallbackChatCompletionClient(
    ChatCompletionClient, Component[FallbackChatCompletionClientConfig]
):
    """Asks the first of `clients`, or the next while it is missing.

    A rate limit, an outage, a refused key, an empty account, an unknown model, an empty answer and
    one that can't be understood lead to the next model. A request that a model does not take, one
    that is too long and a refusal to answer go up: another model is not asked the same. Once a
    stream has yielded a piece, its error goes up, too: nothing that was shown is said again in
    other words.

    Each model is asked up to `attempts` times if its error is passing. A wait in between is as long
    as the provider asks, else 1, 2, 4 ... seconds; one longer than `max_wait` seconds is not
    waited for. A model that failed rests then, for as long as its provider asks, else for 15
    seconds and twice as long after each further failure, up to ten minutes; it is asked last
    meanwhile. If none answers, the first passing error goes up, else the first; the others are its
    notes.

    Agents see the first model's abilities. A later model that lacks what a request needs (images,
    tools, JSON) is left out. `remaining_tokens` is the least of those that are known, so that what
    fits is not too long for the next model. `names` stand in logs and for watches, by default the
    models' own. Closing it closes the clients.
    """

    component_config_schema = FallbackChatCompletionClientConfig

    def __init__(
        self,
        clients: Sequence[ChatCompletionClient],
        *,
        attempts: int = 1,
        max_wait: float = 20.0,
        names: Sequence[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
    ) -> None:
        if not clients:
            raise ValueError("A fallback needs at least one client.")
        if names is not None and len(names) != len(clients):
            raise ValueError(f"There are {len(clients)} clients, and names for {len(names)}.")
        self._clients = list(clients)
        self._attempts = attempts
        self._max_wait = max_wait
        self._names = None if names is None else list(names)
        self._clock = clock
        self._sleep = sleep
        self._members = [
            Member(client, name)
            for client, name in zip(clients, names or map(_label, clients), strict=True)
        ]
        self._actual = self._total = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @property
    def model(self) -> str:
        """The first model's name, as its provider calls it."""
        return _label(self._clients[0])

    @override
    async def create(self, messages: Sequence[LLMMessage], **asked: Unpack[Asking]) -> CreateResult:
        """The answer of the first model that is available."""
        course = self._course(messages, asked)
        while True:
            client = await course.client(asked.get("cancellation_token"))
            try:
                result = await client.create(messages, **asked)
                _refuse_empty(result, client)
            except ModelError as error:
                course.failed(error)
            else:
                return self._answered(course, result)

    @override
    async def create_stream(
        self, messages: Sequence[LLMMessage], **asked: Unpack[Asking]
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the answer of the first model that begins one."""
        course = self._course(messages, asked)
        while True:
            client = await course.client(asked.get("cancellation_token"))
            begun = False
            stream = client.create_stream(messages, **asked)
            try:
                async with aclosing(stream):
                    async for piece in stream:
                        if not begun:
                            _refuse_empty(piece, client)
                        begun = begun or piece != ""
                        yield (
                            self._answered(course, piece)
                            if isinstance(piece, CreateResult)
                            else piece
                        )
            except ModelError as error:
                if begun:
                    course.rest(error)
                    raise
                course.failed(error)
            else:
                return

    @override
    async def close(self) -> None:
        """Close the clients."""
        for client in self._clients:
            await client.close()

    @override
    def actual_usage(self) -> RequestUsage:
        """Usage of the answers that came through this client, without cached ones."""
        return self._actual

    @override
    def total_usage(self) -> RequestUsage:
        """Usage of all answers that came through this client."""
        return self._total

    @override
    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient; as the first model counts."""
        return self._clients[0].count_tokens(messages, tools=tools)

    @override
    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """See ChatCompletionClient; the least that any model has left."""
        left: list[int] = []
        unknown: ValueError | None = None
        for client in self._clients:
            try:
                left.append(client.remaining_tokens(messages, tools=tools))
            except ValueError as error:
                unknown = unknown or error
        if not left and unknown is not None:
            raise unknown
        return min(left)

    @override
    def left_out(self, tools: Sequence[Tool | ToolSchema]) -> Sequence[str]:
        return [each for client in self._clients for each in client.left_out(tools)]

    @property
    @override
    def max_output_tokens(self) -> int | None:
        return self._clients[0].max_output_tokens

    @property
    @override
    def model_info(self) -> ModelInfo:
        return self._clients[0].model_info

    def _course(self, messages: Sequence[LLMMessage], asked: Asking) -> Course:
        first, *others = self._members
        needs = messages, asked.get("tools", ()), asked.get("json_output")
        able = [first, *(each for each in others if not lacking(each.client.model_info, *needs))]
        in_order = resting_last(able, self._clock())
        return Course(
            in_order, self._attempts, self._max_wait, clock=self._clock, sleep=self._sleep
        )

    def _answered(self, course: Course, result: CreateResult) -> CreateResult:
        member, first = course.member, self._members[0]
        member.recover()
        self._total += result.usage
        if not result.cached:
            self._actual += result.usage
        watch = MODEL_WATCH.get()
        if member is not first and isinstance(watch, SubstitutionWatch):
            watch.after_substitution(
                Substitution(missed=first.name, answered=member.name, because=first.because)
            )
        return result


def _refuse_empty(answer: str | CreateResult, client: ChatCompletionClient) -> None:
    """Raise BadAnswer for an answer without text, call or thought."""
    if isinstance(answer, CreateResult) and not (answer.content or answer.thought):
        raise BadAnswer(
            f"The answer of the model {_label(client)!r} is empty", model=_label(client)
        )


def _label(client: ChatCompletionClient) -> str:
    name = getattr(client, "model", "")
    return name if isinstance(name, str) and name else type(client).__name__


__all__ = [
    "FallbackChatCompletionClient",
    "FallbackChatCompletionClientConfig",
    "Substitution",
    "SubstitutionWatch",
]
