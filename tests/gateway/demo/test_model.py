"""The demo model as a client of models."""

from __future__ import annotations

import asyncio

import pytest

from gateway.demo.model import CONTEXT_TOKENS, DemoChatCompletionClient, view_of
from gateway.demo.rules import ToolReturn
from teams.core import CancellationToken, FunctionCall
from teams.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from teams.tools import ToolSchema

MESSAGES: list[LLMMessage] = [
    SystemMessage(content="You are specialist."),
    UserMessage(content="what is 2*3?", source="user"),
]
CALCULATOR = ToolSchema(name="calculator")


def client() -> DemoChatCompletionClient:
    return DemoChatCompletionClient(pace=0)


async def test_an_answer_is_calls_or_text() -> None:
    model = client()
    called = await model.create(MESSAGES, tools=[CALCULATOR])
    assert called.finish_reason == "function_calls"
    said = await model.create(MESSAGES, tools=[CALCULATOR], tool_choice="none")
    assert said.content == "I have no calculator here."
    assert said.usage == RequestUsage(6, 5)
    assert model.actual_usage() == model.total_usage()
    assert model.total_usage().prompt_tokens == 12
    with pytest.raises(ValueError, match="JSON"):
        await model.create(MESSAGES, json_output=True)


async def test_a_stream_gives_the_text_word_by_word() -> None:
    pieces = [piece async for piece in client().create_stream(MESSAGES)]
    words = [piece for piece in pieces if isinstance(piece, str)]
    assert len(words) == 5
    assert "".join(words) == "I have no calculator here."
    assert isinstance(pieces[-1], CreateResult)


async def test_a_stream_ends_when_it_is_cancelled() -> None:
    token = CancellationToken()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        async for _ in client().create_stream(MESSAGES, cancellation_token=token):
            pass


def test_tokens_are_words() -> None:
    model = client()
    assert model.count_tokens(MESSAGES) == 6
    assert model.remaining_tokens(MESSAGES) == CONTEXT_TOKENS - 6


def test_it_calls_tools_and_that_is_all() -> None:
    info = client().model_info
    assert (info["function_calling"], info["vision"], info["json_output"]) == (True, False, False)
    assert "demo" in client().model


def test_a_view_begins_with_the_latest_message_of_a_person() -> None:
    call = FunctionCall(id="1", name="calculator", arguments='{"expression": "2*3"}')
    result = FunctionExecutionResult(content="6", name="calculator", call_id="1", is_error=False)
    messages = [
        *MESSAGES[:1],
        UserMessage(content="earlier", source="user"),
        AssistantMessage(content="old", source="reviewer"),
        *MESSAGES[1:],
        AssistantMessage(content="a note", source="reviewer"),
        AssistantMessage(content="mine", source="specialist"),
        AssistantMessage(content=[call], source="specialist"),
        FunctionExecutionResultMessage(content=[result]),
    ]
    seen = view_of(messages, frozenset({"calculator"}))
    assert (seen.agent, seen.request, seen.notes) == ("specialist", "what is 2*3?", ("a note",))
    assert seen.returned == (ToolReturn(tool="calculator", argument="2*3", text="6"),)
