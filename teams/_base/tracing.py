"""OpenTelemetry spans of teams, agents, models and tools, by GenAI conventions.

There is nothing to switch on but a tracer provider (`opentelemetry.trace.set_tracer_provider`), and
nothing happens without one: each function then hands back what it was given. Spans say who did what
for how long and at which price; what was said is not in them.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from teams._base.tool_call import InputRequired, ToolCall

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


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
    """The tracer, if a provider is set.

    A provider's owner has imported the package, so we need not.
    """
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
    from opentelemetry.trace import SpanKind

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
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
