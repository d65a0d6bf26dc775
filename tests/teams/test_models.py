"""The types of model requests and answers, and the clients' interface."""

import json

import pytest
from pydantic import TypeAdapter, ValidationError

from teams.core import FunctionCall
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

CALL = FunctionCall(id="1", name="add", arguments='{"a": 1}')
MESSAGES: list[tuple[LLMMessage, dict]] = [
    (SystemMessage(content="be kind"), {"content": "be kind", "type": "SystemMessage"}),
    (
        UserMessage(content="hello", source="user"),
        {"content": "hello", "source": "user", "type": "UserMessage"},
    ),
    (
        AssistantMessage(content=[CALL], thought="hm", source="assistant"),
        {
            "content": [{"id": "1", "arguments": '{"a": 1}', "name": "add"}],
            "thought": "hm",
            "source": "assistant",
            "type": "AssistantMessage",
        },
    ),
    (
        FunctionExecutionResultMessage(
            content=[FunctionExecutionResult(content="2", name="add", call_id="1")]
        ),
        {
            "content": [{"content": "2", "name": "add", "call_id": "1", "is_error": None}],
            "type": "FunctionExecutionResultMessage",
        },
    ),
]


@pytest.mark.parametrize(("message", "data"), MESSAGES, ids=lambda value: type(value).__name__)
def test_messages_have_the_documented_json(message: LLMMessage, data: dict):
    assert message.model_dump(mode="json") == data
    assert TypeAdapter(LLMMessage).validate_python(json.loads(json.dumps(data))) == message


def test_a_message_of_unknown_type_is_refused():
    with pytest.raises(ValidationError, match="type"):
        TypeAdapter(LLMMessage).validate_python({"content": "x", "type": "OtherMessage"})
