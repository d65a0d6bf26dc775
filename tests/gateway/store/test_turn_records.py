"""Records between a store and a turn."""

from __future__ import annotations

from gateway.events import MessageFinished, Notice
from gateway.store.records import OpenMessage
from gateway.store.turn_records import Lease, TurnEnd, TurnUpdate, broken_off, full_group


def test_an_open_message_breaks_off_with_its_turn() -> None:
    shown = OpenMessage(message="m", turn="old", agent="a", text="So f")
    ended = broken_off(Lease(thread="t", turn="u", epoch=2), shown)
    expected = MessageFinished(
        thread="t", turn="u", agent="a", message="m", text="So f", ending="broken"
    )
    assert ended == expected


def test_a_full_group_holds_by_its_limit() -> None:
    assert full_group("team", 3).limit == "team_parallel_turns"
    assert full_group("workspace", 3).limit == "workspace_parallel_turns"
    assert full_group("team", 3).most == 3


def test_two_updates_are_one_in_their_order() -> None:
    one, two = (Notice(thread="t", text=text) for text in "12")
    first = TurnUpdate(events=(one,), joined=(1,), handoff_from="a", files_at=5)
    second = TurnUpdate(events=(two,), joined=(2,), withdrawn=("r",), end=TurnEnd(status="done"))
    both = first.followed_by(second)
    assert both == TurnUpdate(
        events=(one, two),
        joined=(1, 2),
        withdrawn=("r",),
        handoff_from="a",
        files_at=5,
        end=TurnEnd(status="done"),
    )
    later = first.followed_by(TurnUpdate(handoff_from="", files_at=6))
    assert (later.handoff_from, later.files_at) == ("", 6)
