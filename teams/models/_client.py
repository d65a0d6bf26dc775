"""Model clients, and the watch by which a run sees their requests.

A client may ask through another one (a cache, a fallback): the innermost request is the one that
costs something. Without a watch nothing is added to a request.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, runtime_checkable

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._components.component import ComponentBase
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._edge import incoming, incoming_pieces
from teams.models._instructions import instructed
from teams.models._types import CreateResult, LLMMessage, ModelCapabilities, ModelInfo, RequestUsage

if TYPE_CHECKING:
    from types import CoroutineType

ToolChoice = Tool | Literal["auto", "required", "none"]
Create = Callable[..., "CoroutineType[Any, Any, CreateResult]"]
CreateStream = Callable[..., AsyncGenerator[str | CreateResult, None]]

BYTES_PER_TOKEN = 4
"""About how much text a token stands for, in UTF-8."""

_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "num_predict")
"""Names of the providers' argument that limits an answer."""


class Asking(TypedDict, total=False):
    """The arguments of `create` besides the messages, to pass on."""

    tools: Sequence[Tool | ToolSchema]
    tool_choice: ToolChoice
    json_output: bool | type[BaseModel] | None
    extra_create_args: Mapping[str, object]
    cancellation_token: CancellationToken | None


class UncheckedArguments(dict[str, object]):
    """`extra_create_args` that go to the provider whatever their names are."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelRequest:
    """One request: what the client was given to ask."""

    client: ChatCompletionClient
    messages: Sequence[LLMMessage]
    tools: Sequence[Tool | ToolSchema] = ()
    extra: Mapping[str, object] = field(default_factory=dict[str, object])

    def prompt_tokens(self) -> int:
        """About how many tokens the model is sent; counted at each call."""
        return self.client.count_tokens(self.messages, tools=self.tools)

    def answer_tokens(self, answer: CreateResult) -> int:
        """About how many tokens an answer has, by its text."""
        said = [answer.thought or ""]
        if isinstance(answer.content, str):
            said.append(answer.content)
        else:
            said += [f"{call.name}{call.arguments}" for call in answer.content]
        return _text_tokens(said)

    def text_tokens(self) -> int:
        """About how many tokens the messages have."""
        return _text_tokens(str(message.content) for message in self.messages)

    def max_answer_tokens(self) -> int | None:
        """Most tokens of the answer, if they are limited."""
        for name in _LIMITS:
            limit = self.extra.get(name)
            if isinstance(limit, int):
                return limit
        return self.client.max_output_tokens


class ModelWatch(Protocol):
    """Sees every request to a model within a run, whoever makes it."""

    async def before_request(self, request: ModelRequest) -> None:
        """A model will be asked; an exception reaches the asker instead."""
        ...

    def after_answer(self, request: ModelRequest, answer: CreateResult) -> None:
        """The model has answered; a missing count is 0.

        Not called for an answer out of a cache; where clients ask through each other, the innermost
        one alone is counted.
        """
        ...

    def after_no_answer(self, request: ModelRequest, *, written: int | None) -> None:
        """A request is over without an answer that counts.

        `written`: about how many tokens had come of an answer that broke off; None if the model has
        not begun to answer: it refused, a cache did, or another client is asked.
        """
        ...


@runtime_checkable
class ErrorWatch(Protocol):
    """A `ModelWatch` that is also told of each error, before `after_no_answer`."""

    def after_error(self, request: ModelRequest, error: Exception) -> None:
        """A request has failed, of the client that was asked last."""
        ...


@runtime_checkable
class BudgetWatch(Protocol):
    """A `ModelWatch` that knows if a request can be paid for."""

    def affords(self, request: ModelRequest) -> bool:
        """True if something of the budgets is left after it."""
        ...


MODEL_WATCH: ContextVar[ModelWatch | None] = ContextVar("teams_model_watch", default=None)
"""The watch of the run this code is part of."""

THINKS_ALOUD: ContextVar[bool] = ContextVar("teams_thinks_aloud", default=False)
"""Streams tell what thoughts gain, too, as `ThoughtPiece`s."""


@contextmanager
def thinking_aloud(wanted: bool = True) -> Generator[None]:
    """Tell what thoughts gain, in everything run inside.

    Chunks without text then have it as `thought` in their metadata.
    """
    token = THINKS_ALOUD.set(wanted)
    try:
        yield
    finally:
        THINKS_ALOUD.reset(token)


class ChatCompletionClient(ComponentBase[BaseModel], ABC):
    """Asks one model.

    Safe to share between agents; its maker closes it. What a subclass defines as `create` and
    `create_stream` is seen by the `ModelWatch` of a run.
    """

    component_type = "model"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "create" in cls.__dict__:
            cls.create = watch_create(cls.create)
        if "create_stream" in cls.__dict__:
            cls.create_stream = watch_create_stream(cls.create_stream)

    @abstractmethod
    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, object] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """The model's answer.

        `tool_choice`: a tool (it must be called), "required" (some tool must), "none" or "auto".
        `json_output`: True for any JSON text, a pydantic model for JSON text of its shape.
        `extra_create_args` go to the provider as they are.
        """

    @abstractmethod
    def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, object] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the answer's text in pieces, and last the whole answer."""

    @abstractmethod
    async def close(self) -> None:
        """Release the connections."""

    @abstractmethod
    def actual_usage(self) -> RequestUsage:
        """Tokens that were paid for, by all requests so far."""

    @abstractmethod
    def total_usage(self) -> RequestUsage:
        """Tokens of all requests so far, those answered from a cache included."""

    @abstractmethod
    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """About how many tokens these would take of the model's context."""

    @abstractmethod
    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """Estimated tokens left in the model's context; may be negative."""

    def left_out(self, tools: Sequence[Tool | ToolSchema]) -> Sequence[str]:
        """Sentences on those of the tools that no request has."""
        del tools
        return ()

    @property
    def max_output_tokens(self) -> int | None:
        """Most tokens of an answer, if the client limits them."""
        return None

    @property
    @abstractmethod
    def model_info(self) -> ModelInfo:
        """The model's abilities."""

    @property
    def capabilities(self) -> ModelCapabilities:
        """An earlier form of `model_info`."""
        info = self.model_info
        return {
            "vision": info["vision"],
            "function_calling": info["function_calling"],
            "json_output": info["json_output"],
        }


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
        await self._watch.before_request(self._request)
        self._open = True

    def note_answer(self, result: CreateResult) -> None:
        if self._outer is not None:
            self._outer._answered_by_another = True
        if self._answered_by_another or result.cached:
            self.end(None)
            return
        self._open = False
        self._watch.after_answer(self._request, result)

    def note_error(self, error: Exception) -> None:
        if self._open and isinstance(self._watch, ErrorWatch):
            self._watch.after_error(self._request, error)

    def end(self, written: int | None) -> None:
        """There is no answer that counts; see `ModelWatch.after_no_answer`."""
        if self._open:
            self._open = False
            self._watch.after_no_answer(self._request, written=written)


_CURRENT: ContextVar[_Request | None] = ContextVar("teams_model_request", default=None)


def watch_create(create: Create) -> Create:
    """Wrap a client's `create`: it has the run's instructions and its watch."""

    @wraps(create)
    async def watched(
        self: ChatCompletionClient, messages: Sequence[LLMMessage], *args: Any, **kwargs: Any
    ) -> CreateResult:
        messages, structured = instructed(messages), kwargs.get("json_output")
        if (watch := MODEL_WATCH.get()) is None:
            return incoming(await create(self, messages, *args, **kwargs), structured=structured)
        request = _Request(watch, _describe_request(self, messages, *args, **kwargs))
        await request.begin()
        token = _CURRENT.set(request)
        written: int | None = None
        try:
            result = incoming(await create(self, messages, *args, **kwargs), structured=structured)
            request.note_answer(result)
        except asyncio.CancelledError:
            written = 0  # nobody knows how far it was, but it was asked
            raise
        except Exception as error:
            request.note_error(error)
            raise
        finally:
            _CURRENT.reset(token)
            request.end(written)
        return result

    return watched


def watch_create_stream(create_stream: CreateStream) -> CreateStream:
    """Wrap a client's `create_stream` in the same way."""

    @wraps(create_stream)
    def watched(
        self: ChatCompletionClient, messages: Sequence[LLMMessage], *args: Any, **kwargs: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        messages, structured = instructed(messages), kwargs.get("json_output")
        pieces = create_stream(self, messages, *args, **kwargs)
        stream = incoming_pieces(pieces, structured=structured)
        watch = MODEL_WATCH.get()
        if watch is None:
            return stream
        return _pieces(_Request(watch, _describe_request(self, messages, *args, **kwargs)), stream)

    return watched


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
                    request.note_answer(piece)
                else:
                    length = (length or 0) + len(piece.encode(errors="replace"))
                yield piece
        except (asyncio.CancelledError, GeneratorExit):
            length = length or 0  # it was asked
            raise
        except Exception as error:
            request.note_error(error)
            raise
        finally:
            request.end(None if length is None else -(-length // BYTES_PER_TOKEN))


def _text_tokens(texts: Iterable[str]) -> int:
    return -(-sum(len(text.encode(errors="replace")) for text in texts) // BYTES_PER_TOKEN)


def _describe_request(
    client: ChatCompletionClient, messages: Sequence[LLMMessage], **arguments: Any
) -> ModelRequest:
    return ModelRequest(
        client=client,
        messages=messages,
        tools=arguments.get("tools", ()),
        extra=arguments.get("extra_create_args", {}),
    )
