"""The base of every message: identity and its form for a model."""

import copy
import os
import pickle
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from pydantic import BaseModel, PrivateAttr

from teams._messages.base import BaseMessage, as_chat_message
from teams.messages import (
    BaseChatMessage,
    BaseTextChatMessage,
    HandoffMessage,
    MultiModalMessage,
    StopMessage,
    StructuredMessage,
    TextMessage,
    ThoughtEvent,
    ToolCallSummaryMessage,
)
from teams.models import SystemMessage, UserMessage


class Weather(BaseModel):
    city: str
    degrees: int


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


def test_a_message_type_of_ones_own_may_have_private_attributes() -> None:
    class Counted(BaseTextChatMessage):
        type: Literal["Counted"] = "Counted"
        _count: int = PrivateAttr(default=3)

    message = Counted(content="hi", source="a")
    message._count += 1
    assert message._count == 4
    assert Counted.load(message.dump()).content == "hi"
    assert message.to_model_message() is message.to_model_message()


def test_a_text_is_the_same_for_people_and_models() -> None:
    said = StopMessage(content="enough", source="a")
    assert (said.to_text(), said.to_model_text()) == ("enough", "enough")


@pytest.mark.parametrize(
    "make",
    [lambda: StopMessage(content="x", source="a"), lambda: ThoughtEvent(content="x", source="a")],
    ids=["message", "event"],
)
def test_messages_of_a_type_share_the_set_of_their_fields(make: Callable[[], BaseMessage]) -> None:
    one, other = make(), make()
    assert one.model_fields_set is other.model_fields_set
    assert one.model_fields_set == set(type(one).model_fields)


def test_an_event_is_no_message_of_a_chat() -> None:
    said = TextMessage(content="hi", source="a")
    assert as_chat_message(said) is said
    with pytest.raises(ValueError, match="ThoughtEvent"):
        as_chat_message(ThoughtEvent(content="hm", source="a"))
