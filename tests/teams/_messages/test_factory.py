"""Factories of messages, and chunks of a text."""

import copy
import json
import pickle
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from teams._messages.factory import stream_chunk
from teams.messages import (
    BaseTextChatMessage,
    MessageFactory,
    ModelClientStreamingChunkEvent,
    SelectorEvent,
    StructuredMessageFactory,
    TextMessage,
)


class Weather(BaseModel):
    city: str
    degrees: int


class Ping(BaseTextChatMessage):
    type: Literal["Ping"] = "Ping"


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

    def test_takes_types_that_come_several_times(self) -> None:
        factory = MessageFactory.of([Ping, TextMessage, Ping])
        assert factory.registered() == [*MessageFactory().registered(), Ping]
        assert factory.is_built_in("TextMessage")
        assert not factory.is_built_in("Ping")
        said = [Ping(content="?", source="a"), TextMessage(content="!", source="b")]
        assert factory.create_all([each.dump() for each in said]) == said

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
