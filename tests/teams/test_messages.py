import json
from datetime import UTC
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

import teams.messages
from teams.code_executor import CodeBlock, CodeResult
from teams.core import FunctionCall, Image
from teams.memory import MemoryContent
from teams.messages import (
    AgentEvent,
    BaseAgentEvent,
    BaseChatMessage,
    ChatMessage,
    CodeExecutionEvent,
    CodeGenerationEvent,
    HandoffMessage,
    MemoryQueryEvent,
    MessageFactory,
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    SelectorEvent,
    SelectSpeakerEvent,
    StopMessage,
    StructuredMessage,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
    UserInputRequestedEvent,
)
from teams.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


class Weather(BaseModel):
    city: str
    degrees: int


texts = st.text(max_size=20)
images = st.just(Image.from_base64(PIXEL))
usages = st.builds(RequestUsage, st.integers(0, 10**9), st.integers(0, 10**9))
calls = st.builds(FunctionCall, id=texts, arguments=texts, name=texts)
results = st.builds(
    FunctionExecutionResult,
    content=texts,
    name=texts,
    call_id=texts,
    is_error=st.none() | st.booleans(),
)
contexts = (
    st.builds(SystemMessage, content=texts)
    | st.builds(UserMessage, content=texts | st.lists(texts | images, max_size=3), source=texts)
    | st.builds(AssistantMessage, content=texts | st.lists(calls, min_size=1), source=texts)
    | st.builds(FunctionExecutionResultMessage, content=st.lists(results, max_size=2))
)
common: dict[str, st.SearchStrategy[Any]] = {
    "source": texts,
    "models_usage": st.none() | usages,
    "metadata": st.dictionaries(texts, texts, max_size=2),
    "created_at": st.datetimes(timezones=st.just(UTC)),
}
memories = st.builds(
    MemoryContent,
    content=texts,
    mime_type=st.just("text/plain"),
    metadata=st.none() | st.dictionaries(texts, texts, max_size=1),
)
blocks = st.builds(CodeBlock, code=texts, language=texts)


def built(message_type: Any, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(message_type, **common, **fields)


chat_messages = (
    built(TextMessage, content=texts)
    | built(StopMessage, content=texts)
    | built(MultiModalMessage, content=st.lists(texts | images, max_size=4))
    | built(HandoffMessage, content=texts, target=texts, context=st.lists(contexts, max_size=3))
    | built(
        ToolCallSummaryMessage,
        content=texts,
        tool_calls=st.lists(calls, max_size=2),
        results=st.lists(results, max_size=2),
    )
)
events = (
    built(ToolCallRequestEvent, content=st.lists(calls, max_size=2))
    | built(ToolCallExecutionEvent, content=st.lists(results, max_size=2))
    | built(MemoryQueryEvent, content=st.lists(memories, max_size=2))
    | built(UserInputRequestedEvent, request_id=texts)
    | built(
        ModelClientStreamingChunkEvent,
        content=texts,
        full_message_id=st.none() | st.uuids().map(str),
    )
    | built(ThoughtEvent, content=texts)
    | built(SelectSpeakerEvent, content=st.lists(texts, max_size=3))
    | built(SelectorEvent, content=texts)
    | built(
        CodeGenerationEvent,
        retry_attempt=st.integers(0, 5),
        content=texts,
        code_blocks=st.lists(blocks, max_size=2),
    )
    | built(
        CodeExecutionEvent,
        retry_attempt=st.integers(0, 5),
        result=st.builds(CodeResult, exit_code=st.integers(-255, 255), output=texts),
    )
)
structured = built(
    StructuredMessage[Weather],
    content=st.builds(Weather, city=texts, degrees=st.integers(-100, 100)),
    format_string=st.none() | st.just("{city}: {degrees}"),
)


@given(chat_messages | events)
def test_what_a_message_dumps_is_json_and_makes_an_equal_message(
    message: BaseChatMessage | BaseAgentEvent,
) -> None:
    data = json.loads(json.dumps(message.dump()))
    assert MessageFactory().create(data) == message
    assert type(message).load(data) == message


@given(structured)
def test_a_structured_message_round_trips_through_a_factory_that_knows_it(message: Any) -> None:
    factory = MessageFactory()
    factory.register(StructuredMessage[Weather])
    assert factory.create(json.loads(json.dumps(message.dump()))) == message


@given(chat_messages | events)
def test_the_unions_tell_the_built_in_types_apart(
    message: BaseChatMessage | BaseAgentEvent,
) -> None:
    union: Any = ChatMessage if isinstance(message, BaseChatMessage) else AgentEvent
    loaded: Any = TypeAdapter(union).validate_json(json.dumps(message.dump()))
    assert loaded == message


def test_a_message_written_by_autogen_is_read() -> None:
    data = {
        "id": "5c5b2b1d-7c4c-4b2e-9d5e-1f0f3a9f6a10",
        "source": "assistant",
        "models_usage": {"prompt_tokens": 7, "completion_tokens": 2},
        "metadata": {},
        "created_at": "2025-07-01T10:20:30.123456Z",
        "content": "Transferred to user.",
        "target": "user",
        "context": [
            {
                "content": [{"id": "1", "arguments": "{}", "name": "look"}],
                "thought": None,
                "source": "assistant",
                "type": "AssistantMessage",
            },
            {
                "content": [{"content": "ok", "name": "look", "call_id": "1", "is_error": False}],
                "type": "FunctionExecutionResultMessage",
            },
        ],
        "type": "HandoffMessage",
    }
    message = MessageFactory().create(data)
    assert isinstance(message, HandoffMessage)
    assert message.models_usage == RequestUsage(7, 2)
    assert message.context[0] == AssistantMessage(
        content=[FunctionCall(id="1", arguments="{}", name="look")], source="assistant"
    )
    assert message.dump() == data


def test_every_public_name_is_listed_once() -> None:
    listed = teams.messages.__all__
    assert sorted(set(listed)) == sorted(listed)
    assert all(hasattr(teams.messages, name) for name in listed)
