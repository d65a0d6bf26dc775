"""Watching a thread: what is stored, then what happens, without a gap between the two."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from gateway.events import MessageFinished, SessionEvent, TextDelta
from gateway.sessions.event_bus import EventBus, subscribed
from gateway.store.protocols import SessionReader


async def watch(
    store: SessionReader, bus: EventBus, thread: str, after: int
) -> AsyncGenerator[SessionEvent]:
    """The thread's events after a seq, until the bus is closed. Raises NotFound.

    No seq comes twice and none is left out: whenever the live events skip one, the store is asked.
    """
    await store.thread(thread)
    with subscribed(bus, thread) as feed:
        while not feed.closed:
            opened = feed.start_over()
            finished: set[str] = set()
            while page := await store.events(thread, after=after):
                for event in page:
                    after = event.seq
                    if isinstance(event, MessageFinished):
                        finished.add(event.message)
                    yield event
            for delta in opened:
                if delta.message not in finished:
                    yield delta
            complete = True
            while complete and (events := await feed.take()) is not None:
                for event in events:
                    if isinstance(event, TextDelta):
                        if event.message not in finished:
                            yield event
                    elif event.seq > after + 1:
                        complete = False
                        break
                    elif event.seq == after + 1:
                        after = event.seq
                        yield event
