import copy
import json
import os
import pickle
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, PrivateAttr, TypeAdapter

import teams.messages
from teams._messages.chat import text_answer
from teams._messages.factory import stream_chunk
from teams.code_executor import CodeBlock, CodeResult
from teams.core import FunctionCall, Image
from teams.memory import MemoryContent
from teams.messages import (
    AgentEvent,
    BaseAgentEvent,
    BaseChatMessage,
    BaseTextChatMessage,
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
    StructuredMessageFactory,
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


class Ping(BaseTextChatMessage):
    type: Literal["Ping"] = "Ping"


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


def test_a_message_gets_an_id_a_time_and_its_type() -> None:
    before = datetime.now(UTC)
    message = TextMessage(content="hi", source="user")
    dumped = message.dump()
    assert uuid.UUID(message.id).version == 4
    assert before <= message.created_at <= datetime.now(UTC)
    assert message.created_at.utcoffset() == timedelta(0)
    assert dumped == {
        "id": message.id,
        "source": "user",
        "models_usage": None,
        "metadata": {},
        "created_at": message.created_at.isoformat().replace("+00:00", "Z"),
        "content": "hi",
        "type": "TextMessage",
    }


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


def test_ids_stay_unique_across_threads() -> None:
    made: list[list[str]] = []

    def make() -> None:
        made.append([ThoughtEvent(content="", source="a").id for _ in range(500)])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({identity for ids in made for identity in ids}) == 2000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_gets_ids_of_its_own() -> None:
    code = (
        "import os, sys\n"
        "from teams.messages import StopMessage\n"
        "StopMessage(content='', source='a')\n"
        "child = os.fork()\n"
        "if child: os.waitpid(child, 0)\n"
        "print(StopMessage(content='', source='a').id, flush=True)"
    )
    ids = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert len(set(ids.stdout.split())) == 2


def test_messages_do_not_share_their_metadata_or_context() -> None:
    one, other = (HandoffMessage(content="", target="b", source="a") for _ in range(2))
    one.metadata["key"] = "value"
    one.context.append(SystemMessage(content="x"))
    assert (other.metadata, other.context) == ({}, [])


class TestModelMessage:
    @pytest.mark.parametrize(
        ("message", "content"),
        [
            (TextMessage(content="hi", source="a"), "hi"),
            (StopMessage(content="enough", source="a"), "enough"),
            (HandoffMessage(content="over to b", target="b", source="a"), "over to b"),
            (
                ToolCallSummaryMessage(content="42", tool_calls=[], results=[], source="a"),
                "42",
            ),
            (MultiModalMessage(content=["look"], source="a"), ["look"]),
            (
                StructuredMessage[Weather](
                    content=Weather(city="Oslo", degrees=3), format_string="{city}", source="a"
                ),
                '{"city":"Oslo","degrees":3}',
            ),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_is_a_user_message_of_the_content_made_once(
        self, message: BaseChatMessage, content: Any
    ) -> None:
        model_message = message.to_model_message()
        assert model_message == UserMessage(content=content, source="a")
        assert message.to_model_message() is model_message

    def test_leaves_no_trace_in_dump_equality_and_copies(self) -> None:
        message = TextMessage(content="hi", source="a")
        untouched = message.model_copy()
        dumped = message.dump()
        message.to_model_message()
        assert message.dump() == dumped
        assert message == untouched
        assert repr(message) == repr(untouched)
        changed = message.model_copy(update={"content": "bye"})
        assert changed.to_model_message().content == "bye"
        for copied in (
            copy.copy(message),
            copy.deepcopy(message),
            pickle.loads(pickle.dumps(message)),
        ):
            copied.content = "bye"
            assert copied.to_model_message().content == "bye"
        assert message.to_model_message().content == "hi"

    def test_follows_an_assignment(self) -> None:
        message = TextMessage(content="hi", source="a")
        message.to_model_message()
        message.content = "bye"
        assert message.to_model_message() == UserMessage(content="bye", source="a")


class TestMultiModal:
    message = MultiModalMessage(content=["see", Image.from_base64(PIXEL), "there"], source="user")

    def test_text_shows_an_image_by_name_or_inline(self) -> None:
        assert self.message.to_text() == "see\n<image>\nthere"
        assert f"File=inline=1:{PIXEL}\a" in self.message.to_text(iterm=True)

    def test_model_text_shows_a_placeholder_or_the_data(self) -> None:
        assert self.message.to_model_text() == "see [image]there"
        assert self.message.to_model_text(image_placeholder="(pic)") == "see (pic)there"
        assert self.message.to_model_text(image_placeholder=None) == f"see {PIXEL}there"


class TestStructured:
    def test_text_is_json_or_follows_the_format(self) -> None:
        content = Weather(city="Oslo", degrees=3)
        plain = StructuredMessage[Weather](content=content, source="a")
        formatted = StructuredMessage[Weather](
            content=content, source="a", format_string="{degrees} degrees in {city}"
        )
        assert plain.to_text() == plain.to_model_text() == '{"city":"Oslo","degrees":3}'
        assert formatted.to_text() == formatted.to_model_text() == "3 degrees in Oslo"

    def test_type_is_the_parametrised_name(self) -> None:
        message = StructuredMessage[Weather](content=Weather(city="", degrees=0), source="a")
        assert message.type == message.dump()["type"] == "StructuredMessage[Weather]"

    def test_wrong_content_is_refused(self) -> None:
        with pytest.raises(ValueError, match="degrees"):
            StructuredMessage[Weather].load({"source": "a", "content": {"city": "Oslo"}})


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (UserInputRequestedEvent(request_id="1", source="a"), ""),
        (ThoughtEvent(content="hm", source="a"), "hm"),
        (SelectorEvent(content="b", source="a"), "b"),
        (SelectSpeakerEvent(content=["b", "c"], source="a"), "['b', 'c']"),
        (CodeGenerationEvent(retry_attempt=0, content="`x`", code_blocks=[], source="a"), "`x`"),
        (CodeExecutionEvent(retry_attempt=0, result=CodeResult(1, "no"), source="a"), "no"),
        (MemoryQueryEvent(content=[], source="a"), "[]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_text_of_an_event_is_its_content(event: BaseAgentEvent, text: str) -> None:
    assert event.to_text() == text


def test_the_text_of_tool_events_names_calls_and_results() -> None:
    call = FunctionCall(id="1", arguments="{}", name="look")
    result = FunctionExecutionResult(content="a cat", name="look", call_id="1", is_error=False)
    assert "look" in ToolCallRequestEvent(content=[call], source="a").to_text()
    assert "a cat" in ToolCallExecutionEvent(content=[result], source="a").to_text()


def test_a_message_type_of_ones_own_may_have_private_attributes() -> None:
    class Counted(BaseTextChatMessage):
        type: Literal["Counted"] = "Counted"
        _count: int = PrivateAttr(default=3)

    message = Counted(content="hi", source="a")
    message._count += 1
    assert message._count == 4
    assert Counted.load(message.dump()).content == "hi"
    assert message.to_model_message() is message.to_model_message()


def test_every_public_name_is_listed_once() -> None:
    listed = teams.messages.__all__
    assert sorted(set(listed)) == sorted(listed)
    assert all(hasattr(teams.messages, name) for name in listed)


class TestStreamChunk:
    def test_equals_a_validated_event(self) -> None:
        chunk = stream_chunk("to", "writer", "1")
        validated = ModelClientStreamingChunkEvent(
            id=chunk.id,
            created_at=chunk.created_at,
            content="to",
            source="writer",
            full_message_id="1",
        )
        assert chunk == validated
        assert chunk.dump() == validated.dump()
        assert repr(chunk) == repr(validated)
        assert MessageFactory().create(chunk.dump()) == chunk
        assert pickle.loads(pickle.dumps(chunk)) == copy.deepcopy(chunk) == chunk


class TestAnsweredText:
    def test_is_like_a_validated_message(self) -> None:
        said = text_answer("hi", "writer", RequestUsage(1, 2), "1")
        validated = TextMessage(
            id="1",
            created_at=said.created_at,
            content="hi",
            source="writer",
            models_usage=RequestUsage(1, 2),
        )
        assert said == validated
        assert said.dump() == validated.dump() == said.model_dump(mode="json")
        assert repr(said) == repr(validated)
        assert said.model_fields_set == validated.model_fields_set
        assert MessageFactory().create(said.dump()) == said
        assert pickle.loads(pickle.dumps(said)) == copy.deepcopy(said) == said.model_copy() == said

    def test_what_is_changed_before_it_is_sent_reaches_the_model(self) -> None:
        said = text_answer("hi", "writer", None, "1")
        before = said.to_model_message()
        said.content = "bye"
        said.metadata["seen"] = "yes"
        assert said.dump()["content"] == said.to_model_message().content == "bye"
        assert (before.content, said.dump()["metadata"]) == ("hi", {"seen": "yes"})
        assert said.model_copy(update={"content": "again"}).to_model_message().content == "again"
        assert text_answer("hi", "writer", None, "2").metadata == {}

    def test_shares_nothing_with_its_siblings(self) -> None:
        one, other = (stream_chunk(text, "writer", None) for text in "ab")
        one.metadata["key"] = "value"
        one.source = "else"
        assert one.id != other.id
        assert (other.metadata, other.source, other.content) == ({}, "writer", "b")


class TestMessageFactory:
    def test_knows_the_built_in_types_and_what_is_registered(self) -> None:
        factory = MessageFactory()
        assert factory.is_registered(TextMessage)
        assert factory.is_registered(SelectorEvent)
        assert not factory.is_registered(Ping)
        factory.register(Ping)
        ping = Ping(content="?", source="a")
        assert factory.create(ping.dump()) == ping
        assert not MessageFactory().is_registered(Ping)

    def test_refuses_a_name_twice(self) -> None:
        with pytest.raises(ValueError, match="'TextMessage' is already registered"):
            MessageFactory().register(TextMessage)

    def test_refuses_what_is_no_message(self) -> None:
        not_a_message: Any = Weather
        with pytest.raises(TypeError, match="Weather"):
            MessageFactory().register(not_a_message)

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            ({"source": "a", "content": "hi"}, "'type'"),
            ({"type": "Ping", "source": "a", "content": "hi"}, "Unknown message type 'Ping'"),
            ({"type": "TextMessage", "source": "a"}, "content"),
        ],
        ids=["no type", "unknown type", "missing content"],
    )
    def test_refuses_bad_data(self, data: Mapping[str, Any], problem: str) -> None:
        with pytest.raises(ValueError, match=problem):
            MessageFactory().create(data)


class TestStructuredMessageFactory:
    def test_survives_json(self) -> None:
        original = StructuredMessageFactory(input_model=Weather, format_string="{city}!")
        component = json.loads(original.dump_component().model_dump_json())
        loaded = StructuredMessageFactory.load_component(component)
        sent = original.StructuredMessage(
            content=Weather(city="Oslo", degrees=3), format_string="{city}!", source="a"
        )
        messages = MessageFactory()
        messages.register(loaded.StructuredMessage)
        received = messages.create(sent.dump())
        assert received.dump() == sent.dump()
        assert received.to_text() == "Oslo!"
        assert loaded.dump_component() == original.dump_component()

    def test_can_be_made_of_a_schema(self) -> None:
        factory = StructuredMessageFactory(
            json_schema=Weather.model_json_schema(), content_model_name="Forecast"
        )
        message = factory.StructuredMessage(
            content=factory.ContentModel.model_validate({"city": "Oslo", "degrees": 3}), source="a"
        )
        assert message.type == "StructuredMessage[Forecast]"
        assert message.to_text() == '{"city":"Oslo","degrees":3}'

    def test_is_known_under_its_autogen_name(self) -> None:
        component = StructuredMessageFactory(input_model=Weather).dump_component()
        component.provider = "autogen_agentchat.messages.StructuredMessageFactory"
        loaded = StructuredMessageFactory.load_component(component)
        assert loaded.ContentModel.__name__ == "Weather"

    def test_needs_a_model_or_a_schema(self) -> None:
        with pytest.raises(ValueError, match="input_model or a json_schema"):
            StructuredMessageFactory()
