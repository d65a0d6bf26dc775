import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from gateway.content.task import speaker_line, task_of
from gateway.conversation import Author, ConversationKey
from gateway.store.turn_records import QueuedMessage
from teams.messages import HandoffMessage, MultiModalMessage, TextMessage

KEY = ConversationKey(platform="slack", channel="C")
ANN = Author(id="slack:T1:U42", name="Ann", timezone="Europe/Berlin")


def png() -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", header)
        + part(b"IDAT", zlib.compress(b"\0\0"))
        + part(b"IEND", b"")
    )


def said(text="Hello", **more) -> QueuedMessage:
    return QueuedMessage(inbox=1, author=ANN, text=text, **more)


def test_a_message_is_the_users_text_with_its_origin():
    [message] = task_of([said(message_id="17.5")], KEY, shared=False, handoff_to="")
    assert isinstance(message, TextMessage)
    assert (message.source, message.content) == ("user", "Hello")
    assert message.metadata == {
        "platform": "slack",
        "author_id": "slack:T1:U42",
        "author_name": "Ann",
        "timezone": "Europe/Berlin",
        "message_id": "17.5",
        "inbox": "1",
    }


def test_images_come_along_and_what_is_none_is_left_out():
    images = (("image/png", png()), ("image/png", b"no image"))
    [message] = task_of([said(images=images)], KEY, shared=False, handoff_to="")
    assert isinstance(message, MultiModalMessage)
    assert [type(part).__name__ for part in message.content] == ["str", "Image"]


def test_the_way_back_from_a_handoff_carries_images_as_context():
    [message] = task_of(
        [said(images=(("image/png", png()),))], KEY, shared=False, handoff_to="desk"
    )
    assert isinstance(message, HandoffMessage)
    assert (message.source, message.target, message.content) == ("user", "desk", "Hello")
    assert len(message.context) == 1


def test_in_a_shared_thread_each_message_says_whose_it_is():
    [message] = task_of([said()], KEY, shared=True, handoff_to="")
    assert isinstance(message, TextMessage)
    assert message.content == "[Ann \u00b7 1U42]\nHello"


def test_what_makes_up_a_turn_together_is_one_message():
    images = (("image/png", png()),)
    [both] = task_of([said("one"), said("two")], KEY, shared=False, handoff_to="")
    assert isinstance(both, TextMessage)
    assert both.content == "one\n\ntwo"
    [seen] = task_of([said("one", images=images), said("two")], KEY, shared=False, handoff_to="")
    assert isinstance(seen, MultiModalMessage)
    assert [part if isinstance(part, str) else "image" for part in seen.content] == [
        "one",
        "image",
        "two",
    ]
    [back] = task_of([said("one", images=images), said("two")], KEY, shared=False, handoff_to="a")
    assert isinstance(back, HandoffMessage)
    assert (back.content, len(back.context)) == ("one\n\ntwo", 1)
    assert task_of([], KEY, shared=False, handoff_to="") == []


@given(st.text(), st.text())
def test_a_name_can_neither_leave_its_line_nor_look_like_another_id(name, identity):
    line = speaker_line(Author(id=identity, name=name))
    assert line.startswith("[")
    assert line.endswith("]")
    assert len(line.splitlines()) == 1
    assert line.count("[") == line.count("]") == line.count("\u00b7") == 1
    assert line.isprintable()
