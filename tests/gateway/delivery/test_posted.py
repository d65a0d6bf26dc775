"""A thread's messages on its platform, and the steps that are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.conversation import ConversationKey
from gateway.delivery.items import LineItem, SpeechItem
from gateway.delivery.posted import DELETED, OPENING, PostedMessages, Step
from gateway.outbox import OutboxRow
from gateway.surface import Line, Place, Speech, TextLimits
from tests.fakes.hand_clock import HandClock
from tests.fakes.scripted_surface import Board, Surface

PLACE = Place(key=ConversationKey(platform="scripted", root="1"), thread="t", asker="")


def posted(surface: Surface | None = None, clock: HandClock | None = None) -> PostedMessages:
    return PostedMessages(surface or Surface(Board()), PLACE, [], clock or HandClock())


def speech(text: str = "Hello", number: int = 1, **more: Any) -> SpeechItem:
    return SpeechItem(id=f"m:{number}", seq=number, asker="", agent="a", text=text, **more)


def delivered(messages: PostedMessages, step: Step, **more: Any) -> OutboxRow:
    """The step's row once its message shows it."""
    row = step.row or messages.new_row(step.item, step.part.n, 5.0)
    values: dict[str, Any] = {
        "status": "delivered",
        "message": "p1",
        "digest": step.part.digest,
        "body": step.part.body,
        "last": step.part.last,
        **more,
    }
    return replace(row, **values)


def test_a_new_item_is_posted_and_then_edited() -> None:
    messages, item = posted(), speech()
    [step] = messages.steps(item)
    assert (step.is_edit, step.use, step.can_wait) == (False, "post", False)
    row = delivered(messages, step)
    messages.put(row)
    messages.note_sent(row, step.part)
    assert messages.steps(item) == []
    assert (messages.messages, dict(messages.of(item))) == ({"p1"}, {0: row})
    item.text = "Hello there"
    [step] = messages.steps(item)
    assert (step.is_edit, step.use, step.can_wait) == (True, "edit", True)
    item.growing = False
    [step] = messages.steps(item)
    assert (step.use, step.can_wait) == ("final", False)


def test_the_first_new_message_comes_before_edits_below_it() -> None:
    messages, first, second = posted(), speech(growing=False), speech("Ho", 2, growing=False)
    step = messages.first_new([first, second])
    assert step is not None
    assert step.item is first
    messages.put(delivered(messages, step))
    step = messages.first_new([first, second])
    assert step is not None
    assert step.item is second
    messages.put(delivered(messages, step))
    assert messages.first_new([first, second]) is None


def test_what_was_told_is_forgotten_unless_it_is_open() -> None:
    messages, first, second = posted(), speech(), speech("Ho", 2)
    for item in (first, second):
        [step] = messages.steps(item)
        messages.put(delivered(messages, step, open=item is first))
    messages.forget(2)
    assert (bool(messages.of(first)), bool(messages.of(second))) == (True, False)


def test_a_row_has_its_own_key_at_every_try() -> None:
    messages, item = posted(), speech()
    row = messages.new_row(item, 0, 5.0)
    assert (row.thread, row.item, row.seq, row.status, row.at) == ("t", "m:1", 1, "pending", 5.0)
    assert row.place == str(PLACE.key)
    assert messages.new_row(item, 0, 5.0, 1).key != row.key


def test_a_message_that_takes_no_more_is_closed() -> None:
    messages, item = posted(), speech("Hello there")
    [step] = messages.steps(item)
    row = delivered(messages, step)
    closed = messages.closed_row(Step(item, step.part, row), "Hello")
    assert (closed.closed, closed.last) == (True, 5)


def test_a_message_that_is_lost_is_written_once_more_unless_a_person_deleted_it() -> None:
    messages, item = posted(), speech(growing=False)
    [step] = messages.steps(item)
    stands = Step(item, step.part, delivered(messages, step))
    again = messages.row_after_loss(stands, 6.0, deleted=False)
    assert (again.status, again.generation) == ("pending", 1)
    failed = messages.row_after_loss(Step(item, step.part, again), 7.0, deleted=False)
    messages.put(failed)
    assert [each.row for each in messages.failed_steps(item)] == [failed]
    gone = messages.row_after_loss(stands, 6.0, deleted=True)
    assert (gone.status, gone.reason) == ("failed", DELETED)
    messages.put(gone)
    assert messages.failed_steps(item) == []


def test_a_message_too_old_to_edit_keeps_its_text() -> None:
    surface = Surface(Board(), limits=TextLimits(message=200, edit_within=60.0))
    messages, item = posted(surface), speech()
    [step] = messages.steps(item)
    row = delivered(messages, step)
    messages.put(row)
    messages.note_sent(row, step.part)
    assert messages.text_if_too_old(row, step.part, 65.0) is None
    assert messages.text_if_too_old(row, step.part, 66.0) == "Hello"


class Hesitant(Surface):
    """Begins no text."""

    def begins(self, place: Place, speech: Speech) -> bool:
        return False

    def short_of_edits(self, place: Place) -> bool:
        return False


def test_a_text_that_is_no_word_yet_begins_a_little_later() -> None:
    clock = HandClock()
    messages, item = posted(Hesitant(Board()), clock), speech("He")
    assert messages.wait_to_begin(clock.time()) is None
    assert messages.steps(item) == []
    assert messages.wait_to_begin(clock.time()) == OPENING
    clock.advance(OPENING)
    assert len(messages.steps(item)) == 1


def test_a_line_below_a_card_waits_for_it() -> None:
    messages = posted()
    line = LineItem(id="n:1", seq=1, asker="", line=Line(text="x"), below="c:r1")
    assert messages.steps(line) == []
    line.below = ""
    [step] = messages.steps(line)
    assert step.use == "post"
