"""A streamed message: its sent text and its next chunks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.slack.outbound.stream import IDLE, ROLLOVER, Stream, closing, fence_chunks
from gateway.conversation import ConversationKey
from gateway.surface import Activity, Part, Place, Speech

PLACE = Place(
    key=ConversationKey(platform="slack", workspace="T1", channel="C1", root="1"),
    thread="t",
    asker="",
)
CALL = Activity(id="c1", kind="tool", title="look", status="running")
GROWING = Speech(agent="writer", text="Hello", growing=True)
PART = Part(key="k", content=GROWING)


def stream(sent: str = "") -> Stream:
    found = Stream(place=PLACE, channel="C1", ts="5.0", key="k", opened=100.0, touched=100.0)
    if sent:
        found.mark_sent(GROWING, sent, 100.0, hosts=())
    return found


def test_a_stream_is_a_message_that_grows_old() -> None:
    found = stream()
    assert (found.ref.channel, found.ref.ts) == ("C1", "5.0")
    assert [found.is_old(100.0 + ROLLOVER + past) for past in (0, 1)] == [False, True]
    assert [found.is_idle(100.0 + IDLE + past) for past in (0, 1)] == [False, True]


def test_chunks_are_what_was_not_sent_so_far() -> None:
    found, speech = stream(), replace(GROWING, activity=(CALL,))
    first = found.next_chunks(PART, speech, "Hello", named=False, hosts=())
    assert [each["type"] for each in first] == ["blocks", "task_update", "markdown_text"]
    assert not found.has_sent(speech)
    found.mark_sent(speech, "Hello", 130.0, hosts=())
    assert (found.sent, found.touched, found.has_sent(speech)) == ("Hello", 130.0, True)
    assert found.next_chunks(PART, speech, "Hello", named=True, hosts=()) == []
    done = replace(speech, activity=(replace(CALL, status="done"),))
    more = found.next_chunks(PART, done, "Hello you", named=True, hosts=())
    assert [each.get("text") or each["status"] for each in more] == [" you", "complete"]


def test_a_text_holds_as_long_as_it_begins_with_what_was_sent() -> None:
    found = stream("Hello")
    assert [found.extended_by(text) for text in ("Hello you", "Hallo")] == [True, False]
    found.phase, found.marked = "stopped", True
    assert [found.is_whole(text) for text in ("Hello you", "Hallo")] == [True, False]


def test_links_to_other_hosts_wait_for_the_end() -> None:
    found = stream("See https://a.example/x.")
    assert found.has_dead_links
    assert not stream("Hello").has_dead_links


def test_a_growing_text_is_sent_as_far_as_it_is_settled() -> None:
    found = stream("Hello")
    assert found.stable_text("Hello there you and **bo").startswith("Hello")
    assert found.stable_text("He") == "Hello"
    assert found.final_text("Hello there ") == "Hello there"
    assert found.final_text("Hallo all ") == "Hallo all"


@pytest.mark.parametrize(
    ("speech", "feedback", "rated"),
    [
        (Speech(agent="a", text="Hello"), True, True),
        (Speech(agent="a", text="Hello"), False, False),
        (Speech(agent="a", text="Hello", mark="It was stopped."), True, False),
    ],
)
def test_a_finished_message_may_be_rated(speech: Speech, feedback: bool, rated: bool) -> None:
    blocks = closing(Part(key="k", content=speech), speech, feedback=feedback)
    assert ("context_actions" in str(blocks)) is rated


def test_open_code_is_closed() -> None:
    assert fence_chunks("Hello") == []
    [chunk] = fence_chunks("```\ncode")
    assert chunk["text"].endswith("```")
