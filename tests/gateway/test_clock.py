"""Clocks that jump: by a year ahead, and back."""

from __future__ import annotations

from pathlib import Path

from gateway.events import HumanText, MessageFinished, TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.local_client import LocalClient
from gateway.store import SqliteStore
from gateway.upkeep import DOUBT, Trust
from tests.gateway.scripted import ScriptedTeams, model, of, solo, turn

YEAR = 365 * 86400.0
DAY = 86400.0


class Clock:
    """The time of day, set by hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_a_conversation_keeps_its_order_whatever_the_clock_says(tmp_path: Path) -> None:
    clock = Clock()
    shared = model("One.", "Two.", "Three.", "Four.")
    teams = ScriptedTeams(lambda: solo(shared))
    store = SqliteStore(tmp_path, clock=clock)
    async with Gateway(store, teams, limits=Limits(retention=90 * DAY), clock=clock) as gateway:
        client = LocalClient(gateway)
        thread = (await client.create_thread()).id
        for n, jump in enumerate((0.0, YEAR, -2 * YEAR, YEAR), start=1):
            clock.now += jump
            await turn(client, thread, f"question {n}")
        events = await store.events(thread)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    asked = [message for event in of(TurnStarted, events) for message in event.messages]
    assert [text.text for text in asked if isinstance(text, HumanText)] == [
        f"question {n}" for n in (1, 2, 3, 4)
    ]
    assert [e.text for e in of(MessageFinished, events)] == ["One.", "Two.", "Three.", "Four."]


def test_a_clock_that_jumped_ahead_is_not_believed_until_it_went_on_for_hours() -> None:
    clock, steady = Clock(), Clock()
    trust = Trust(clock, steady)

    def pass_by(seconds: float) -> bool:
        clock.now += seconds
        steady.now += seconds
        return trust.holds()

    assert pass_by(60)
    clock.now += YEAR
    assert not pass_by(60)
    assert not pass_by(DOUBT / 2)
    assert pass_by(DOUBT / 2)


def test_a_clock_that_was_put_right_deletes_nothing_that_is_young() -> None:
    clock, steady = Clock(), Clock()
    trust = Trust(clock, steady)
    clock.now += YEAR
    assert not trust.holds()
    clock.now -= YEAR
    steady.now += DOUBT
    clock.now += DOUBT
    assert trust.holds()
