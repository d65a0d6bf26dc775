"""Items of a thread, and the messages that show each."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.delivery.items import (
    OVER,
    DesiredMessage,
    FileItem,
    Item,
    LineItem,
    SpeechItem,
    desired_messages,
    digest_of,
    file_name,
    key_of,
    may_change,
    stamp,
    whole_text,
    with_names,
)
from gateway.events import TurnFinished, WorkHandedOff
from gateway.outbox import OutboxRow
from gateway.surface import Activity, Document, Line, Speech
from tests.fakes.scripted_surface import Board, Surface

SURFACE = Surface(Board())


def speech(text: str = "Hello", **more: Any) -> SpeechItem:
    return SpeechItem(id="m:m", seq=2, asker="", agent="a", text=text, **more)


def shown(item: Item, rows: dict[int, OutboxRow] | None = None) -> list[DesiredMessage]:
    return desired_messages(item, SURFACE, rows or {})


def message(text: str, **more: Any) -> DesiredMessage:
    content = Speech(agent="a", text=text)
    return DesiredMessage(n=0, content=content, first=0, last=len(text), **more)


def test_calls_and_hand_offs_are_told_with_the_words() -> None:
    item = speech()
    item.act("c1", "look", "running")
    item.act("c2", "send", "done", "5 s")
    leaves = Activity(id="h:3", kind="handoff", title="b", status="done")
    item.leaves.append(leaves)
    assert [each.id for each in item.activity] == ["c1", "c2", "h:3"]
    assert item.acts["c2"].detail == "5 s"
    item.forget_running()
    assert [each.id for each in item.activity] == ["c2", "h:3"]


def test_a_message_is_known_by_what_it_shows() -> None:
    whole = message("Hello")
    assert whole.digest == message("Hello").digest != message("Hallo").digest
    assert whole.body == digest_of("Hello")
    file = whole.continued_in("a.md")
    assert isinstance(file.content, Speech)
    assert file.content.rest_in == "a.md"
    assert file.digest != whole.digest


@pytest.mark.parametrize(("text", "last"), [("Hel", 3), ("Other", 0)])
def test_a_closed_message_holds_what_it_shares_with_the_text(text: str, last: int) -> None:
    closed = message("Hello").closed_after(text)
    assert isinstance(closed.content, Speech)
    assert (closed.content.text, closed.last, closed.lasting) == (text, last, True)


def test_hashes_and_keys_differ() -> None:
    assert len({digest_of("a"), digest_of("b"), digest_of("\ud800")}) == 3
    keys = {key_of("t", "i", n, generation) for n in (0, 1) for generation in (0, 1)}
    assert len(keys) == 4
    assert key_of("t", "i", 0, 0) == key_of("t", "i", 0, 0)


def test_a_long_text_is_several_messages() -> None:
    parts = shown(speech("word " * 60, growing=False))
    assert [part.n for part in parts] == [0, 1]
    assert (
        "".join(part.content.text for part in parts if isinstance(part.content, Speech)).count(
            "word"
        )
        == 60
    )
    assert [part.use for part in parts] == ["final", "final"]


def test_a_line_that_is_over_is_taken_away() -> None:
    line = LineItem(id="n:1", seq=1, asker="", line=Line(text="Wait.", command="/stop", label="x"))
    [open_line] = shown(line)
    assert (open_line.open, open_line.use) == (True, "post")
    line.over = True
    [over] = shown(line)
    assert (over.content, over.left_over) == (Line(text=OVER), True)


def test_files_are_shown_once_there_are_no_more() -> None:
    item = FileItem(id="f:1", seq=1, asker="", agent="a", paths=["x/plan.txt"], size=1)
    assert shown(item) == []
    item.growing = False
    [part] = shown(item)
    assert isinstance(part.content, Document)
    assert [file.name for file in part.content.files] == [file_name("x/plan.txt")] == ["plan.txt"]


def test_the_whole_text_is_a_file() -> None:
    assert whole_text(speech("Straße")) == "Straße".encode()


def test_what_may_change_is_known_and_stamped() -> None:
    item = speech()
    assert may_change(item)
    grown = stamp(item)
    item.text += "!"
    assert stamp(item) != grown
    item.growing = False
    assert not may_change(item)
    assert not may_change(LineItem(id="n:1", seq=1, asker="", line=Line(text="")))


def test_agents_have_their_names_for_people_in_each_event() -> None:
    names = {"front": "Front desk", "refunds": "Refunds"}
    handed = WorkHandedOff(thread="t", turn="u", agent="front", target="refunds")
    shown = with_names(handed, names)
    assert isinstance(shown, WorkHandedOff)
    assert (shown.agent, shown.target) == ("Front desk", "Refunds")
    assert with_names(handed, {}) is handed
    done = TurnFinished(thread="t", turn="u", outcome="done")
    assert with_names(done, names) == done
