"""A held thread is told once, and again after a change."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import pytest

from gateway.content.attachments import MISSING
from gateway.conversation import AwaitedFile
from gateway.events import SessionEvent, TurnHeld
from gateway.store.turn_records import Hold, TurnDelay
from gateway.store.units import claims, counts, holds, queue
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import begin, end, take

pytestmark = pytest.mark.usefixtures("database")

FULL = Hold(limit="person_parallel_turns", most=3)
HAD = Hold(limit="person_turns", most=30, seconds=400.0)


def told(events: Any) -> list[str]:
    return [each.limit for each in events if isinstance(each, TurnHeld)]


async def test_a_hold_is_told_once_and_anew_when_it_is_another_one(tmp_path: Path) -> None:
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    async with store.own():
        await take(store)
        found = [
            told(await store.run(holds.tell_hold, "t", hold)) for hold in (FULL, FULL, HAD, HAD)
        ]
        assert found == [[FULL.limit], [], [HAD.limit], []]
        clock.advance(10)  # the same hold still lasts as long: its end has moved a little
        assert await store.run(holds.tell_hold, "t", HAD) == ()
        clock.advance(60)
        assert told(await store.run(holds.tell_hold, "t", HAD)) == [HAD.limit]
        assert (await store.run(counts.counts)).held == {HAD.limit: 1}


async def test_nothing_is_told_where_a_turn_runs_or_nothing_waits(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await take(store)
        assert told(await store.run(holds.tell_hold, "t", FULL)) == [FULL.limit]
        work = await begin(store)
        assert (await store.run(counts.counts)).held == {}
        assert await store.run(holds.tell_hold, "t", FULL) == ()
        await end(store, work)
        assert await store.run(holds.tell_hold, "t", FULL) == ()
        assert await store.run(holds.tell_hold, "none", FULL) == ()


async def test_the_last_message_that_is_taken_back_ends_the_hold(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        taken = [await take(store, number=str(n)) for n in range(2)]
        await store.run(holds.tell_hold, "t", FULL)
        ended: list[list[str]] = []
        for each in taken:
            withdrawn = await store.run(queue.withdraw_here, "t", each.inbox)
            assert withdrawn is not None
            ended.append(told(withdrawn[1]))
    assert ended == [[], [""]]


async def test_files_are_named_once_they_have_been_waited_for(tmp_path: Path) -> None:
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    file = AwaitedFile(name="a", media_type="text/plain", size=1, ref="F1")
    async with store.own():
        await take(store, awaited=(file,))
        told: list[tuple[float, int]] = []
        for pause in (0.0, 3.0, 30.0):
            clock.advance(pause)
            work = await store.run(claims.begin, "t", "boot", words=MISSING)
            assert isinstance(work, TurnDelay)
            told.append((work.seconds, len(work.events)))
    assert told == [(3.0, 0), (87.0, 1), (57.0, 0)]


@pytest.mark.parametrize(
    ("limit", "most", "seconds", "text"),
    [
        ("person_turns", 30, 400.0, "you had 30 turns within ten minutes. It begins in 7 minutes."),
        ("person_turns", 1, 20.0, "you had a turn within ten minutes. It begins in 20 s."),
        ("person_parallel_turns", 3, inf, "3 turns of yours are running, which is the limit."),
        ("person_parallel_turns", 1, inf, "a turn of yours is running, which is the limit."),
        (
            "parallel_turns",
            16,
            inf,
            "16 turns are running, which is the limit. It begins when one ends.",
        ),
        (
            "parallel_turns",
            1,
            inf,
            "a turn is running, which is the limit. It begins when one ends.",
        ),
        ("team_parallel_turns", 1, inf, "a turn of this team is running, which is the limit."),
        ("workspace_parallel_turns", 2, inf, "2 turns of this workspace are running, which"),
        ("collect_seconds", 0, 600.0, "More messages may come. The turn begins in 10 minutes."),
        ("files", 0, 87.0, "The turn waits for files, for 87 s at most."),
    ],
)
def test_words(limit: Any, most: int, seconds: float, text: str) -> None:
    until = None if seconds == inf else 1000.0 + seconds
    event: SessionEvent = TurnHeld(thread="t", at=1000.0, limit=limit, most=most, until=until)
    assert text in event.text
