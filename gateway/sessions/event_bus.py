"""Event bus: best effort within the process.

What must not be lost is in the store.

A feed holds a bounded number of events. One that is read too slowly forgets them and says so; its
reader then takes what it missed from the store. Text of one message that waits is joined.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from gateway.events import MessageFinished, SessionEvent, TextDelta
from gateway.store.protocols import SessionReader

FEED = 2000
"""Events that a feed holds for its reader."""


class Subscription:
    """The events of one thread, from the moment of the subscription on."""

    def __init__(self, opened: dict[str, OpenText]) -> None:
        self._opened = opened
        self._items: deque[SessionEvent | OpenText] = deque()
        self._arrived = asyncio.Event()
        self._gap = False
        self._closed = False

    @property
    def closed(self) -> bool:
        """No event will come any more."""
        return self._closed

    def push(self, events: Iterable[SessionEvent]) -> None:
        """Add events for the reader."""
        for event in events:
            if isinstance(event, TextDelta):
                self._push_text(event)
            else:
                self._items.append(event)
        if len(self._items) > FEED:
            self._items.clear()
            self._gap = True
        self._arrived.set()

    def _push_text(self, delta: TextDelta) -> None:
        last = self._items[-1] if self._items else None
        if isinstance(last, OpenText) and last.message == delta.message and not delta.replace:
            last.grow(delta)
        else:
            self._items.append(OpenText(delta))

    def start_over(self) -> list[TextDelta]:
        """Open messages so far, each whole; waiting events are dropped."""
        self._items.clear()
        self._gap = False
        return [replace(text.delta(), replace=True) for text in self._opened.values()]

    async def take(self) -> list[SessionEvent] | None:
        """Wait for events and take all of them.

        None: events were lost, or no more will come.
        """
        while not (self._items or self._gap or self._closed):
            self._arrived.clear()
            await self._arrived.wait()
        if self._gap or not self._items:
            return None
        taken = [item.delta() if isinstance(item, OpenText) else item for item in self._items]
        self._items.clear()
        return taken

    def close(self) -> None:
        """Let the reader finish."""
        self._closed = True
        self._arrived.set()


class OpenText:
    """Deltas of one message, joined when somebody asks."""

    def __init__(self, first: TextDelta) -> None:
        self._first = first
        self._parts = [first.text]

    @property
    def message(self) -> str:
        """The message's id."""
        return self._first.message

    def grow(self, delta: TextDelta) -> None:
        """Add a delta; one that replaces drops what was there."""
        if delta.replace:
            self._parts.clear()
        self._parts.append(delta.text)

    def delta(self) -> TextDelta:
        """All of it as one delta."""
        self._parts = ["".join(self._parts)]
        return replace(self._first, text=self._parts[0])


class ActivitySubscription:
    """In which threads something happens, from the subscription on."""

    def __init__(self) -> None:
        self._threads: dict[str, None] = {}
        self._arrived = asyncio.Event()
        self._closed = False

    def push(self, thread: str) -> None:
        """Add a thread for the reader."""
        self._threads[thread] = None
        self._arrived.set()

    async def take(self) -> list[str] | None:
        """Wait for threads and take each once; None at the end."""
        while not (self._threads or self._closed):
            self._arrived.clear()
            await self._arrived.wait()
        taken = list(self._threads)
        self._threads.clear()
        return taken or None

    def close(self) -> None:
        """Let the reader finish."""
        self._closed = True
        self._arrived.set()


class EventBus(Protocol):
    """Bus that carries events from turns to surfaces."""

    def publish(self, thread: str, events: Iterable[SessionEvent]) -> None:
        """Hand events to the thread's feeds."""
        ...

    def subscribe(self, thread: str) -> Subscription:
        """Open a feed; give it back with `unsubscribe`."""
        ...

    def unsubscribe(self, thread: str, feed: Subscription) -> None:
        """Close a feed."""
        ...

    def stirs(self) -> ActivitySubscription:
        """Subscribe to the activity of all threads; `unheard` ends it."""
        ...

    def unheard(self, stirs: ActivitySubscription) -> None:
        """Close it."""
        ...

    def end(self, thread: str) -> None:
        """Close all feeds of a thread that is no more."""
        ...

    def close(self) -> None:
        """Close all feeds, also those that are opened later."""
        ...


class LocalBus:
    """Bus within one process, with open messages for latecomers."""

    def __init__(self) -> None:
        self._feeds: dict[str, set[Subscription]] = {}
        self._opened: dict[str, dict[str, OpenText]] = {}
        self._stirs: set[ActivitySubscription] = set()
        self._closed = False

    def publish(self, thread: str, events: Iterable[SessionEvent]) -> None:
        """Hand events to the thread's feeds."""
        events = tuple(events)
        for event in events:
            if isinstance(event, TextDelta):
                self._grow(thread, event)
            elif isinstance(event, MessageFinished) and thread in self._opened:
                self._opened[thread].pop(event.message, None)
                self._tidy(thread)
        for feed in self._feeds.get(thread, ()):
            feed.push(events)
        for stirs in self._stirs if events else ():
            stirs.push(thread)

    def _grow(self, thread: str, delta: TextDelta) -> None:
        opened = self._opened.setdefault(thread, {})
        if delta.message in opened:
            opened[delta.message].grow(delta)
        else:
            opened[delta.message] = OpenText(delta)

    def subscribe(self, thread: str) -> Subscription:
        """Open a feed; give it back with `unsubscribe`."""
        feed = Subscription(self._opened.setdefault(thread, {}))
        if self._closed:
            feed.close()
        self._feeds.setdefault(thread, set()).add(feed)
        return feed

    def unsubscribe(self, thread: str, feed: Subscription) -> None:
        """Close a feed."""
        feed.close()
        if feeds := self._feeds.get(thread):
            feeds.discard(feed)
            if not feeds:
                del self._feeds[thread]
        self._tidy(thread)

    def stirs(self) -> ActivitySubscription:
        """Subscribe to the activity of all threads; `unheard` ends it."""
        stirs = ActivitySubscription()
        if self._closed:
            stirs.close()
        self._stirs.add(stirs)
        return stirs

    def unheard(self, stirs: ActivitySubscription) -> None:
        """Close it."""
        stirs.close()
        self._stirs.discard(stirs)

    def end(self, thread: str) -> None:
        """Close all feeds of a thread that is no more."""
        for feed in self._feeds.pop(thread, ()):
            feed.close()
        self._opened.pop(thread, None)

    def close(self) -> None:
        """Close all feeds, also those that are opened later."""
        self._closed = True
        for thread in list(self._feeds):
            self.end(thread)
        for stirs in self._stirs:
            stirs.close()

    def _tidy(self, thread: str) -> None:
        # A feed holds the very dict, so it may go only once nobody watches.
        if thread not in self._feeds and not self._opened.get(thread):
            self._opened.pop(thread, None)


@contextmanager
def subscribed(bus: EventBus, thread: str) -> Generator[Subscription]:
    """A feed for the length of a context."""
    feed = bus.subscribe(thread)
    try:
        yield feed
    finally:
        bus.unsubscribe(thread, feed)


@contextmanager
def listening(bus: EventBus) -> Generator[ActivitySubscription]:
    """All threads' stirs for the length of a context."""
    stirs = bus.stirs()
    try:
        yield stirs
    finally:
        bus.unheard(stirs)


async def watch(
    store: SessionReader, bus: EventBus, thread: str, after: int
) -> AsyncGenerator[SessionEvent]:
    """Events of the thread after a seq. Raises NotFound.

    They end with the bus.

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
