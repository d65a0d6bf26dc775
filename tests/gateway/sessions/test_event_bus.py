import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events import MessageFinished, Notice, SessionEvent, TextDelta, TurnStarted
from gateway.sessions.event_bus import LONGEST_QUEUE, LocalBus, Subscription, watch
from gateway.store.protocols import SessionReader
from tests.fakes.tested_store import NamedOperations


class Shelf(NamedOperations):
    """A store of events, for reading."""

    def __init__(self) -> None:
        self.stored: list[SessionEvent] = []
        self.asked = 0
        """Times that texts of open messages were asked for."""

    def add(self, event: SessionEvent) -> SessionEvent:
        self.stored.append(replace(event, seq=len(self.stored) + 1))
        return self.stored[-1]

    async def thread(self, thread):
        return None

    async def open_messages(self, thread):
        self.asked += 1
        return ()

    async def events(self, thread, *, after=0, limit=500):
        return self.stored[after : after + limit]


def notice(text="n"):
    return Notice(thread="t", text=text)


def delta(text, message="m"):
    return TextDelta(thread="t", agent="a", message=message, text=text)


def finished(text, message="m"):
    return MessageFinished(thread="t", agent="a", message=message, text=text)


async def collected(shelf, bus, act, after=0):
    """Everything a watcher sees, when `act` happens after it began."""
    seen: list[Any] = []

    async def look():
        async with aclosing(watch(cast("SessionReader", shelf), bus, "t", after)) as events:
            seen.extend([event async for event in events])

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        await asyncio.sleep(0)
        for step in act:
            step()
            for _ in range(5):
                await asyncio.sleep(0)
        bus.close()
    return seen


def test_seqs_come_once_and_in_order_however_the_live_events_arrive():
    @given(st.permutations(range(6)), st.sets(st.integers(0, 5)), st.integers(0, 6))
    def check(order, lost, after):
        async def run():
            shelf, bus = Shelf(), LocalBus()
            events = [shelf.add(notice(str(n))) for n in range(6)]
            live = [events[n] for n in order if n not in lost]
            steps = [lambda event=event: bus.publish("t", [event]) for event in live]
            seen = await collected(shelf, bus, steps, after)
            assert [event.seq for event in seen] == list(range(after + 1, 7))

        asyncio.run(run())

    check()


async def test_an_event_that_was_stored_but_never_published_is_found_with_the_next_one():
    shelf, bus = Shelf(), LocalBus()
    seen = await collected(
        shelf,
        bus,
        [lambda: shelf.add(notice("lost")), lambda: bus.publish("t", [shelf.add(notice("next"))])],
    )
    assert [event.text for event in seen] == ["lost", "next"]


async def test_who_comes_late_gets_an_open_message_from_its_beginning():
    shelf, bus = Shelf(), LocalBus()
    bus.publish("t", [delta("Hel"), delta("lo")])
    seen = await collected(shelf, bus, [lambda: bus.publish("t", [delta("!")])])
    assert [(event.text, event.replace) for event in seen] == [("Hello", True), ("!", False)]


async def test_a_finished_message_is_not_opened_again():
    shelf, bus = Shelf(), LocalBus()
    bus.publish("t", [delta("Hel")])
    bus.publish("t", [shelf.add(finished("Hello"))])
    seen = await collected(shelf, bus, [])
    assert seen == shelf.stored


async def test_a_reader_that_is_too_slow_catches_up_from_the_store():
    shelf, bus = Shelf(), LocalBus()
    bus.publish("t", [delta("start ")])

    def flood():
        bus.publish("t", [shelf.add(notice(str(n))) for n in range(LONGEST_QUEUE + 1)])

    seen = await collected(shelf, bus, [flood])
    notices = [event for event in seen if isinstance(event, Notice)]
    assert [event.seq for event in notices] == list(range(1, LONGEST_QUEUE + 2))


@given(st.lists(st.text(min_size=1), min_size=1))
def test_text_that_waits_for_its_reader_is_joined(chunks):
    async def run():
        subscription = Subscription("t", {})
        for chunk in chunks:
            subscription.push([delta(chunk)])
        return await subscription.take()

    assert asyncio.run(run()) == [delta("".join(chunks))]


@pytest.mark.parametrize(
    ("resumed", "here", "asks"),
    [(False, True, False), (True, True, True), (False, False, True), (None, True, True)],
)
async def test_stored_texts_are_asked_for_unless_the_turn_began_here(resumed, here, asks):
    shelf, bus = Shelf(), LocalBus(elsewhere=True, runs_here=lambda thread: here)
    if resumed is not None:
        shelf.add(TurnStarted(thread="t", turn="u", resumed=resumed))
    shelf.add(notice())
    await collected(shelf, bus, [])
    assert bool(shelf.asked) == asks


async def test_who_comes_after_the_end_is_let_go_at_once():
    shelf, bus = Shelf(), LocalBus()
    bus.close()
    assert await collected(shelf, bus, []) == []


async def test_threads_do_not_see_each_other():
    shelf, bus = Shelf(), LocalBus()
    seen = await collected(shelf, bus, [lambda: bus.publish("other", [delta("x")])])
    assert seen == []
