"""Fates of missed messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.backfill.missed_messages import MissedMessages
from gateway.history import Found, Page
from gateway.missed import DAY, OpenGap
from gateway.surface import CallRejected
from tests.fakes.rooms import RoomHistory, Rooms, room, serving


async def test_commands_of_then_are_about_nothing_of_now(tmp_path: Path) -> None:
    rooms = Rooms()
    for text in ("/stop", "hello", "/new"):
        rooms.say(room("lobby"), text)
    async with serving(rooms, tmp_path) as run:
        await run.note(room("lobby"))
        assert await run.caught_up() == {"answer": 1}
        assert await run.heard() == ["hello"]


async def test_a_message_that_is_refused_for_good_holds_up_no_other(tmp_path: Path) -> None:
    rooms = Rooms(faults={"first": [CallRejected("no such author")]})
    for text in ("first", "second"):
        rooms.say(room("lobby"), text)
    async with serving(rooms, tmp_path) as run:
        await run.note(room("lobby"))
        assert await run.caught_up() == {"answer": 1, "refused": 1}
        assert await run.heard() == ["second"]
        assert "a message could not be accepted: no such author" in str(run.gateway.vitals.remarks)


@pytest.mark.parametrize(
    ("faults", "heard"),
    [({}, ["2 and 2", "2 and 3"]), ({"2 and 3": [CallRejected("gone")] * 9}, ["2 and 2"])],
    ids=["edited", "refused for good"],
)
async def test_an_edit_of_the_pause_reaches_a_message_that_was_taken(
    tmp_path: Path, faults: dict[str, list[Exception]], heard: list[str]
) -> None:
    rooms = Rooms(faults=faults)
    line = rooms.say(room("lobby"), "2 and 2")
    async with serving(rooms, tmp_path) as run:
        await run.note(room("lobby"))
        await run.caught_up()
        line.text, line.edited = "2 and 3", rooms.clock.time()
        for _ in range(2):  # once, however often it is read
            rooms.clock.advance(10)
            await run.note(room("lobby"))
            await run.caught_up()
        rooms.say(room("lobby"), "and then?")
        await run.note(room("lobby"))
        await run.caught_up()
        assert await run.heard() == [*heard, "and then?"]


@pytest.mark.parametrize(("ahead", "verdict"), [(0.0, "too_old"), (60.0, "offer")])
async def test_nothing_is_too_old_by_a_clock_that_is_doubted(
    tmp_path: Path, ahead: float, verdict: str
) -> None:
    rooms = Rooms()
    line = rooms.say(room("lobby"), "old")
    rooms.clock.advance(100 * DAY)
    now = rooms.clock.time()
    gap = OpenGap(place=line.key, since=0, until=now, returned=now, id=1)
    async with serving(rooms, tmp_path) as run:
        if ahead:
            run.gateway.health.compare_time("rooms", now - 100 * DAY + ahead)
        found = Found(key=line.key, id=line.id, at=1000.0, said=line)
        missed = MissedMessages(run.gateway, RoomHistory(rooms, run.gateway))
        sorted_out, refused = await missed.sort(Page(said=[found]), gap)
        assert [each.verdict for each in sorted_out.values()] == [verdict]
        assert refused == 0
