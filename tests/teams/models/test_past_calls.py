"""Past calls, as each dialect sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from teams.core import FunctionCall
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from teams.models._outgoing import Asked, outgoing
from teams.models._past_calls import arguments_object
from teams.models.openai._dialect import OpenAIDialect
from tests.fakes import anthropic_checks, openai_checks
from tests.fakes.drafts import ABLE, DIALECTS
from tests.fakes.ollama_server import refusal
from tests.fakes.wire import CLAUDE, HELLO


def turn(call_id: str, arguments: str = "{}", *, answered: bool = True) -> list[LLMMessage]:
    call = FunctionCall(id=call_id, name="odd.name", arguments=arguments)
    result = FunctionExecutionResult(content="Done.", name="odd.name", call_id=call_id)
    said: list[LLMMessage] = [AssistantMessage(content=[call], source="ann", thought="Well.")]
    return [*said, FunctionExecutionResultMessage(content=[result])] if answered else said


def body(dialect: Any, *messages: LLMMessage) -> Any:
    return dialect.body(outgoing(dialect, Asked(messages, (), "auto", None, {})))


def check_responses(sent: Any) -> None:
    """Refuse a call without its output, and the reverse."""
    called = [each["call_id"] for each in sent["messages"] if each.get("type") == "function_call"]
    done = [
        each["call_id"] for each in sent["messages"] if each.get("type") == "function_call_output"
    ]
    assert called == done
    assert len({*called}) == len(called)


CHECKS = {
    "openai": openai_checks.check_request,
    "responses": check_responses,
    "anthropic": lambda sent: anthropic_checks.check_request(sent, CLAUDE, ()),
    "ollama": lambda sent: openai_checks.require(not refusal(sent), refusal(sent)),
}


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_conversation_of_any_origin_can_be_sent(kind: str):
    messages = [
        *turn("lost", answered=True)[1:],
        *HELLO,
        *turn("", "{"),
        *turn("same", "[1]"),
        *turn("same", "NaN"),
        AssistantMessage(content="", source="ann"),
        *turn("open", answered=False),
        *HELLO,
        *turn("x" * 99),
        *turn("cut", answered=False),
    ]
    CHECKS[kind](body(DIALECTS[kind](), *messages))


def test_a_valid_conversation_is_sent_as_it_is():
    dialect, messages = DIALECTS["openai"](), [*HELLO, UserMessage(content=" ", source="user")]
    asked = Asked([*HELLO, AssistantMessage(content="Hi", source="a")], (), "auto", None, {})
    assert outgoing(dialect, asked).messages is asked.messages
    assert outgoing(dialect, Asked(messages, (), "auto", None, {})).messages == messages


def test_made_ids_are_the_same_in_the_next_request_and_those_that_mistral_takes():
    dialect = OpenAIDialect(info={**ABLE, "family": "mistral"}, create_args={"model": "m"})
    past = [*HELLO, *turn("call_1"), *turn("call_1"), *turn("abcDEF123")]
    first, second = body(dialect, *past)["messages"], body(dialect, *past, *HELLO)["messages"]
    assert second[:-1] == first
    ids = [message["tool_call_id"] for message in first if message["role"] == "tool"]
    assert ids[2] == "abcDEF123"
    assert len({*ids}) == len(ids)
    assert all(len(each) == len("abcDEF123") and each.isalnum() for each in ids)


def test_ids_that_the_server_gave_stay():
    past = [*HELLO, *turn("functions.weather:0"), *turn("call_1")]
    sent = body(DIALECTS["openai"](), *past)["messages"]
    ids = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert ids == ["functions.weather:0", "call_1"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", {}),
        (" \n", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"arguments": [1]}),
        ("{", {"arguments": "{"}),
        ("NaN", {"arguments": "NaN"}),
        ('{"a": -1e999}', {"arguments": '{"a": -1e999}'}),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        ("[" * 5000, {"arguments": "[" * 5000}),
        ("x" * 2_000_000, {}),
    ],
)
def test_arguments_are_read_as_an_object(text: str, read: Any):
    assert arguments_object(text) == read
    json.dumps(read, allow_nan=False)
