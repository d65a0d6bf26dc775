"""Telemetry: structured events for logs, and OpenTelemetry spans.

Events of model calls, tool calls and messages between agents go to the logger `EVENT_LOGGER_NAME`
at level INFO, as the record's `msg`; their text is JSON. Nothing is built while nobody listens.

Spans of teams, agents, models and tools follow the GenAI conventions. There is nothing to switch on
but a tracer provider (`opentelemetry.trace.set_tracer_provider`), and nothing happens without one:
each function then hands back what it was given. Spans say who did what for how long and at which
price; what was said is not in them.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from teams._base.tool_call import AGENT_PATH, CURRENT_CALL, InputRequired, ToolCall

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

ROOT_LOGGER_NAME = "teams"
EVENT_LOGGER_NAME = "teams.events"
TRACE_LOGGER_NAME = "teams.trace"

events = logging.getLogger(EVENT_LOGGER_NAME)


class Message(Protocol):
    """A message or an event of a conversation."""

    def dump(self) -> Mapping[str, Any]:
        """The message as JSON-ready data."""
        ...


class _Event:
    """`kwargs` holds everything the event says; `type` tells the kinds apart."""

    def __init__(self, type: str, **kwargs: Any) -> None:
        self.kwargs: dict[str, Any] = {"type": type, "agent_id": _agent_id(), **kwargs}

    def __str__(self) -> str:
        return json.dumps(self.kwargs, default=str, ensure_ascii=False)


class _Usage(_Event):
    @property
    def prompt_tokens(self) -> int:
        """Tokens of the request."""
        return self.kwargs["prompt_tokens"]

    @property
    def completion_tokens(self) -> int:
        """Tokens of the answer."""
        return self.kwargs["completion_tokens"]


class LLMCallEvent(_Usage):
    """A model's answer: the request's messages and the response as sent."""

    def __init__(
        self,
        *,
        messages: Sequence[Mapping[str, Any]],
        response: Mapping[str, Any],
        prompt_tokens: int,
        completion_tokens: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "LLMCall",
            messages=messages,
            response=response,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            **kwargs,
        )


class LLMStreamStartEvent(_Event):
    """A model was asked for a stream, and has begun to answer."""

    def __init__(self, *, messages: Sequence[Mapping[str, Any]], **kwargs: Any) -> None:
        super().__init__("LLMStreamStart", messages=messages, **kwargs)


class LLMStreamEndEvent(_Usage):
    """A streamed answer is complete."""

    def __init__(
        self,
        *,
        response: Mapping[str, Any],
        prompt_tokens: int,
        completion_tokens: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "LLMStreamEnd",
            response=response,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            **kwargs,
        )


class ToolCallEvent(_Event):
    """A tool has run; `result` is what the model is told."""

    def __init__(self, *, tool_name: str, arguments: Mapping[str, Any], result: str) -> None:
        super().__init__("ToolCall", tool_name=tool_name, arguments=arguments, result=result)


class MessageEvent(_Event):
    """A message has come into the conversation of a team."""

    def __init__(self, *, team: str, message: Message) -> None:
        super().__init__("Message", team=team, message=message.dump())


def is_event_log_on() -> bool:
    """True if somebody listens."""
    return events.isEnabledFor(logging.INFO)


def log_messages(team: str, messages: Iterable[Message]) -> None:
    """One MessageEvent for each, if anybody listens."""
    if is_event_log_on():
        for message in messages:
            events.info(MessageEvent(team=team, message=message))


def _agent_id() -> str | None:
    """The known path of names of the caller, outermost first."""
    call = CURRENT_CALL.get()
    return "/".join(call.agent if call is not None else AGENT_PATH.get()) or None


class Outcome(Protocol):
    """A tool's result."""

    @property
    def is_error(self) -> bool:
        """True if the tool failed."""
        ...


T = TypeVar("T")
R = TypeVar("R", bound=Outcome)
Attributes = Mapping[str, str | int]


def trace_team(name: str, stream: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """A team's run."""
    if (tracer := _tracer()) is None:
        return stream
    attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": name}
    return _stream_span(tracer, f"invoke_workflow {name}", attributes, stream)


def trace_agent(
    name: str, description: str, stream: AsyncGenerator[T, None]
) -> AsyncGenerator[T, None]:
    """An agent's turn."""
    if (tracer := _tracer()) is None:
        return stream
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.agent.description": description,
    }
    return _stream_span(tracer, f"invoke_agent {name}", attributes, stream)


def trace_tool(call: ToolCall, work: Coroutine[Any, Any, R]) -> Coroutine[Any, Any, R]:
    """A tool's run for a call."""
    if (tracer := _tracer()) is None:
        return work
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": call.agent[-1],
    }
    return _call_span(tracer, f"execute_tool {call.name}", attributes, work, _note_tool_result)


def trace_model(model: str, provider: str, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """A model's answer."""
    if (tracer := _tracer()) is None:
        return work
    return _call_span(tracer, f"chat {model}", _of_model(model, provider), work, _note_answer)


def trace_model_stream(
    model: str, provider: str, stream: AsyncGenerator[T, None]
) -> AsyncGenerator[T, None]:
    """A model's streamed answer."""
    if (tracer := _tracer()) is None:
        return stream
    attributes = _of_model(model, provider)
    return _stream_span(tracer, f"chat {model}", attributes, stream, _note_answer)


def _tracer() -> Tracer | None:
    """The tracer; None unless the package was imported and a provider set."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    provider = api.get_tracer_provider()
    if isinstance(provider, api.ProxyTracerProvider | api.NoOpTracerProvider):
        return None
    return provider.get_tracer("teams")


async def _stream_span(
    tracer: Tracer,
    name: str,
    attributes: Attributes,
    stream: AsyncGenerator[T, None],
    note: Callable[[Span, Any], None] | None = None,
) -> AsyncGenerator[T, None]:
    # An optional package; whoever set a tracer provider has imported it.
    from opentelemetry import trace
    from opentelemetry.context import attach, detach

    span = tracer.start_span(name, kind=_kind(attributes), attributes=attributes)
    context = trace.set_span_in_context(span)
    try:
        async with aclosing(stream):
            while True:
                # Set for each pull alone: it must not leak to the consumer of the stream.
                token = attach(context)
                try:
                    item = await anext(stream)
                except StopAsyncIteration:
                    return
                finally:
                    detach(token)
                if note is not None:
                    note(span, item)
                yield item
    except Exception as error:
        _note_error(span, error)
        raise
    finally:
        span.end()


async def _call_span(
    tracer: Tracer,
    name: str,
    attributes: Attributes,
    work: Coroutine[Any, Any, T],
    note: Callable[[Span, Any], None],
) -> T:
    with tracer.start_as_current_span(
        name,
        kind=_kind(attributes),
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            result = await work
        except Exception as error:
            _note_error(span, error)
            raise
        note(span, result)
        return result


def _kind(attributes: Attributes) -> Any:
    from opentelemetry.trace import SpanKind  # as above

    remote = attributes["gen_ai.operation.name"] == "chat"
    return SpanKind.CLIENT if remote else SpanKind.INTERNAL


def _of_model(model: str, provider: str) -> Attributes:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }


def _note_answer(span: Span, answer: Any) -> None:
    if isinstance(answer, str):
        return
    span.set_attribute("gen_ai.usage.input_tokens", answer.usage.prompt_tokens)
    span.set_attribute("gen_ai.usage.output_tokens", answer.usage.completion_tokens)
    span.set_attribute("gen_ai.response.finish_reasons", [answer.finish_reason])


def _note_tool_result(span: Span, result: Outcome) -> None:
    if result.is_error:
        _fail(span, "tool_error")


def _note_error(span: Span, error: Exception) -> None:
    if isinstance(error, InputRequired):
        return  # it waits for a human; that is no failure
    span.record_exception(error)
    _fail(span, type(error).__qualname__)


def _fail(span: Span, kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode  # as above

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
