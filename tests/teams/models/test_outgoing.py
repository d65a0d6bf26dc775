"""Requests that leave by the edge."""

from typing import Any

import pytest
from pydantic import BaseModel

from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from teams.models.openai._dialect import OpenAIDialect
from teams.tools import FunctionTool, ToolSchema
from tests.fakes.drafts import ABLE
from tests.fakes.wire import HELLO, WireServer

NOTE = ToolSchema(name="note", description="Notes.")


class Form(BaseModel):
    city: str


def other() -> str:
    return ""


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
@pytest.mark.parametrize(
    ("lacks", "asked"),
    [
        ("function_calling", {"tools": [NOTE]}),
        ("json_output", {"json_output": True}),
        ("structured_output", {"json_output": Form}),
        ("", {"tools": [NOTE], "tool_choice": FunctionTool(other, "Another.")}),
    ],
)
async def test_what_a_model_can_t_do_is_not_sent(kind: Any, lacks: str, asked: Any):
    server = WireServer(kind)
    client = server.client()
    info: Any = {**ABLE, lacks: False} if lacks else ABLE
    client._dialect.info = info
    with pytest.raises(ValueError, match=r"support|among"):
        await client.create(HELLO, **asked)
    with pytest.raises(ValueError, match=r"support|among"):
        await anext(client.create_stream(HELLO, **asked))
    assert server.requests == []


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
async def test_system_messages_apart_are_refused_by_a_model_that_takes_one(kind: Any):
    client = WireServer(kind).client()
    info: Any = {**ABLE, "multiple_system_messages": False}
    client._dialect.info = info
    told, said = SystemMessage(content="Be kind."), UserMessage(content="Hi", source="user")
    with pytest.raises(ValueError, match="one system message"):
        await client.create([told, said, told])


@pytest.mark.parametrize("model", ["google/gemma-2-9b-it", "mistralai/Mistral-7B-Instruct-v0.3"])
async def test_sides_take_turns_where_a_template_wants_it(model: str):
    answer = '{"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}'
    server = WireServer("openai", *[answer] * 2)
    ann, bob = (UserMessage(content=f"I am {name}.", source=name) for name in ("ann", "bob"))
    own = AssistantMessage(content="Hello.", source="me")
    messages = [SystemMessage(content="Be kind."), ann, bob, own, own, ann]
    await server.client(OpenAIDialect(info=ABLE, create_args={"model": model})).create(messages)
    assert [(each["role"], each["content"]) for each in server.requests[0]["messages"]] == [
        ("system", "Be kind."),
        ("user", "ann said:\n\nI am ann.\n\nbob said:\n\nI am bob."),
        ("assistant", "Hello.\n\nHello."),
        ("user", "I am ann."),
    ]
    await server.client().create(messages)
    assert len(server.requests[1]["messages"]) == len(messages)


async def test_what_is_left_out_is_noted_once(caplog: pytest.LogCaptureFixture):
    answer = '{"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}'
    server = WireServer("openai", *[answer] * 3)
    client = server.client()
    orphan = FunctionExecutionResult(content="3", name="add", call_id="c1")
    messages = [FunctionExecutionResultMessage(content=[orphan]), *HELLO]
    for _ in range(2):
        await client.create(messages)
    await client.create(messages, tools=[NOTE, NOTE])
    assert [each.getMessage() for each in caplog.records if each.name == "teams"] == [
        "A result of 'add' is left out, without its call, of a request to the model m.",
        "A second tool 'note' is left out, of a request to the model m.",
    ]
