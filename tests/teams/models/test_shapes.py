"""Streams of real servers, read and followed by a next request."""

from __future__ import annotations

from typing import Any

import pytest

from teams.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelError,
)
from teams.models._thought_marks import marks_of
from teams.models.openai._dialect import OpenAIDialect
from teams.tools import ToolSchema
from tests.fakes.anthropic_shapes import ANTHROPIC
from tests.fakes.drafts import ABLE
from tests.fakes.openai_shapes import OPENAI
from tests.fakes.shapes import Shape
from tests.fakes.wire import HELLO, WireServer, events, streamed

WEATHER: Any = ToolSchema(name="weather", description="The weather.")
OK = {
    "openai": events({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}),
    "anthropic": '{"type": "message", "content": [{"type": "text", "text": "ok"}],'
    ' "stop_reason": "end_turn"}',
}


def after(result: CreateResult) -> list[LLMMessage]:
    """The conversation with the answer, as an agent would go on."""
    said = AssistantMessage(content=result.content, thought=result.thought, source="ann")
    if isinstance(result.content, str):
        return [*HELLO, said, *HELLO]
    done = [
        FunctionExecutionResult(content="Done.", name=call.name, call_id=call.id)
        for call in result.content
    ]
    return [*HELLO, said, FunctionExecutionResultMessage(content=done)]


async def check(kind: Any, shape: Shape) -> None:
    server = WireServer(kind, shape.body, OK[kind])
    marked = OpenAIDialect(info=ABLE, create_args={"model": "m"}, marks=marks_of(shape.model))
    client = server.client(marked if kind == "openai" else None)
    if shape.error:
        with pytest.raises(ModelError, match=shape.error):
            await streamed(client, tools=[WEATHER])
        return
    shown, result = await streamed(client, tools=[WEATHER])
    found: list[tuple[str, str]] = []
    if isinstance(result.content, str):
        assert (shown, result.content) == (shape.text, shape.text)
    else:
        found = [(call.name, call.arguments) for call in result.content]
        assert len({call.id for call in result.content}) == len(found)
    assert (found, result.finish_reason) == (list(shape.calls), shape.finish)
    assert result.thought == shape.thought
    _, told = await streamed(client, after(result), tools=[WEATHER])
    assert told.content == "ok"


@pytest.mark.parametrize("shape", OPENAI, ids=lambda shape: shape.name)
async def test_streams_of_servers_like_openai_s(shape: Shape):
    await check("openai", shape)


@pytest.mark.parametrize("shape", ANTHROPIC, ids=lambda shape: shape.name)
async def test_streams_of_servers_like_anthropic_s(shape: Shape):
    await check("anthropic", shape)


def test_the_table_is_as_long_as_it_says():
    assert len(OPENAI) >= 66
    assert len(ANTHROPIC) >= 12
