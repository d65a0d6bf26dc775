"""Requests that leave by the edge."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from teams.core import FunctionCall
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


ANSWERS = {
    "openai": {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]},
    "anthropic": {
        "type": "message",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
    },
    "ollama": {"message": {"content": "ok"}, "done": True, "done_reason": "stop"},
}


def answering(kind: Any) -> WireServer:
    return WireServer(kind, json.dumps(ANSWERS[kind]))


SAID = [AssistantMessage(content=text, source="ann") for text in ("One.", "Two.", "Three.")]


@pytest.mark.parametrize("kind", ["openai", "ollama"])
@pytest.mark.parametrize(
    ("messages", "last"),
    [
        ([*HELLO, *SAID[:2]], "One.\n\nTwo."),
        ([*HELLO, *SAID], "One.\n\nTwo.\n\nThree."),
        ([*SAID[:1], *HELLO, *SAID[1:]], "Two.\n\nThree."),
        ([*HELLO, *SAID[:1]], "One."),
    ],
)
async def test_no_two_answers_stand_at_the_end(kind: Any, messages: Any, last: str):
    server = answering(kind)
    await server.client().create(messages)
    sent = server.requests[-1]["messages"]
    assert sent[-1]["role"] == "assistant"
    assert sent[-2]["role"] == "user"
    assert sent[-1]["content"] == last


async def test_answers_in_the_midst_stay_apart():
    server = answering("openai")
    await server.client().create([*HELLO, *SAID, *HELLO])
    assert [each["role"] for each in server.requests[-1]["messages"]] == [
        "user",
        *["assistant"] * 3,
        "user",
    ]


HALF = "a\ud800b"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
@pytest.mark.parametrize(
    "messages",
    [
        [UserMessage(content=HALF, source="user")],
        [SystemMessage(content=HALF), *HELLO],
        [*HELLO, AssistantMessage(content=HALF, source="ann"), *HELLO],
        [
            *HELLO,
            AssistantMessage(content=[FunctionCall("c1", '{"a": "\ud800"}', "note")], source="ann"),
            FunctionExecutionResultMessage(
                content=[FunctionExecutionResult(content=HALF, name="note", call_id="c1")]
            ),
        ],
        [UserMessage(content=[HALF, "more"], source="user")],
    ],
)
async def test_half_a_character_does_not_hold_a_request_up(kind: Any, messages: Any, stream: bool):
    server = answering(kind)
    client = server.client()
    if stream:
        assert [piece async for piece in client.create_stream(messages)]
    else:
        await client.create(messages)
    assert "\ufffd" in json.dumps(server.requests[-1], ensure_ascii=False)
    json.dumps(server.requests[-1], ensure_ascii=False).encode()
