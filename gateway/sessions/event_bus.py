"""Event bus: best effort within the process.

What must not be lost is in the store. A subscription holds a bounded number of events. One that is
read too slowly forgets them and says so; its reader then takes what it missed from the store. Text
of one message that waits is joined.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Protocol

from gateway.events import MessageFinished, SessionEvent, TextDelta, TurnFinished, TurnStarted
from gateway.store.protocols import SessionReader
from gateway.store.units import events as event_units
from gateway.store.units import rows, threads

LONGEST_QUEUE = 2000
"""Events that a subscription holds for its reader."""
PAGE = 500
"""Events that are read at once."""


class Subscription:
    """The events of one thread, from the moment of the subscription on."""

    def __init__(self, thread: str, opened: dict[str, OpenText]) -> None:
        self.thread = thread
        self._opened = opened
        self._items: deque[SessionEvent | OpenText] = deque()
        self._arrived = asyncio.Event()
        self._gap = False
        self._closed = False
        self.elsewhere = False
        """The thread may run on another node."""

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
        if len(self._items) > LONGEST_QUEUE:
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
        """Wait for events and take all; None: lost some, or closed."""
        while not (self._items or self._gap or self._closed):
            self._arrived.clear()
            await self._arrived.wait()
        if self._gap or not self._items:
            return None
        taken = [item.delta() if isinstance(item, OpenText) else item for item in self._items]
        self._items.clear()
        return taken

    def look(self) -> None:
        """Let the reader look at the rows: another node has added some."""
        self.elsewhere = True
        self._items.clear()
        self._gap = True
        self._arrived.set()

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
        """Add a delta that replaces nothing."""
        self._parts.append(delta.text)

    def delta(self) -> TextDelta:
        """All of it as one delta."""
        self._parts = ["".join(self._parts)]
        return replace(self._first, text=self._parts[0])


class ActivitySubscription:
    """The threads with new events, from the subscription on."""

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
        """Hand events to the thread's subscriptions."""
        ...

    def touched(self, thread: str) -> None:
        """Let watchers look at rows that nobody has handed on."""
        ...

    def subscription(self, thread: str) -> AbstractContextManager[Subscription]:
        """The thread's events, for the length of a context."""
        ...

    def activity(self) -> AbstractContextManager[ActivitySubscription]:
        """The activity of all threads, for the length of a context."""
        ...

    def end(self, thread: str) -> None:
        """Close all subscriptions of a thread that is no more."""
        ...

    def runs_here(self, thread: str, /) -> bool:
        """True if the thread's turn runs on this node."""
        ...

    def close(self) -> None:
        """Close all subscriptions, also those that are opened later."""
        ...


def _never(_: str) -> bool:
    return False


class LocalBus:
    """Bus within one process, with open messages for latecomers."""

    def __init__(
        self,
        shared: Callable[[str, bool], None] | None = None,
        *,
        elsewhere: bool = False,
        runs_here: Callable[[str], bool] = _never,
    ) -> None:
        self._elsewhere = elsewhere
        """Turns may run on other nodes."""
        self.runs_here = runs_here
        """True for a thread whose turn runs on this one."""
        self._shared = shared
        """Is told each thread with something new, and whether that is more than growing text."""
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._opened: dict[str, dict[str, OpenText]] = {}
        self._activity: set[ActivitySubscription] = set()
        self._closed = False

    def publish(self, thread: str, events: Iterable[SessionEvent]) -> None:
        """Hand events to the thread's subscriptions."""
        events = tuple(events)
        for event in events:
            if isinstance(event, TextDelta):
                self._grow(thread, event)
            elif isinstance(event, MessageFinished) and thread in self._opened:
                self._opened[thread].pop(event.message, None)
                self._tidy(thread)
        for subscription in self._subscriptions.get(thread, ()):
            subscription.push(events)
        for subscription in self._activity if events else ():
            subscription.push(thread)
        if events and self._shared is not None:
            self._shared(thread, not all(isinstance(event, TextDelta) for event in events))

    def touched(self, thread: str) -> None:
        """Let watchers look at rows that nobody has handed on."""
        for subscription in self._subscriptions.get(thread, ()):
            subscription.look()
        for subscription in self._activity:
            subscription.push(thread)

    @property
    def watched(self) -> Sequence[str]:
        """The threads that somebody watches."""
        return [*self._subscriptions]

    def _grow(self, thread: str, delta: TextDelta) -> None:
        opened = self._opened.setdefault(thread, {})
        if delta.message in opened and not delta.replace:
            opened[delta.message].grow(delta)
        else:
            opened[delta.message] = OpenText(delta)

    @contextmanager
    def subscription(self, thread: str) -> Generator[Subscription]:
        """The thread's events, for the length of a context."""
        subscription = Subscription(thread, self._opened.setdefault(thread, {}))
        subscription.elsewhere = self._elsewhere
        if self._closed:
            subscription.close()
        self._subscriptions.setdefault(thread, set()).add(subscription)
        try:
            yield subscription
        finally:
            if subscriptions := self._subscriptions.get(thread):
                subscriptions.discard(subscription)
                if not subscriptions:
                    del self._subscriptions[thread]
            self._tidy(thread)

    @contextmanager
    def activity(self) -> Generator[ActivitySubscription]:
        """The activity of all threads, for the length of a context."""
        subscription = ActivitySubscription()
        if self._closed:
            subscription.close()
        self._activity.add(subscription)
        try:
            yield subscription
        finally:
            self._activity.discard(subscription)

    def end(self, thread: str) -> None:
        """Close all subscriptions of a thread that is no more."""
        for subscription in self._subscriptions.pop(thread, ()):
            subscription.close()
        self._opened.pop(thread, None)

    def close(self) -> None:
        """Close all subscriptions, also those that are opened later."""
        self._closed = True
        for thread in list(self._subscriptions):
            self.end(thread)
        for subscription in self._activity:
            subscription.close()

    def _tidy(self, thread: str) -> None:
        # A subscription holds the very dict, so it may go only once nobody watches.
        if thread not in self._subscriptions and not self._opened.get(thread):
            self._opened.pop(thread, None)


async def _stored_texts(
    store: SessionReader, subscription: Subscription, *, ended: bool
) -> list[TextDelta]:
    """Stored text of open messages of a turn elsewhere."""
    if ended or not subscription.elsewhere:
        return []
    return [
        TextDelta(
            thread=subscription.thread,
            turn=message.turn,
            agent=message.agent,
            message=message.message,
            text=message.text,
            replace=True,
        )
        for message in await store.run(rows.open_messages, subscription.thread)
    ]


async def watch(
    store: SessionReader, bus: EventBus, thread: str, after: int
) -> AsyncGenerator[SessionEvent]:
    """Events of the thread after a seq. Raises NotFound.

    They end with the bus. No seq comes twice and none is left out: whenever the live events skip
    one, the store is asked.
    """
    told, start, known = dict[str, str](), after, False
    with bus.subscription(thread) as subscription:
        while not subscription.closed:
            opened, ended, full = subscription.start_over(), False, True
            begun = False
            finished: set[str] = set()
            while full:
                page = await store.run(event_units.events, thread, after=after, limit=PAGE)
                full = len(page) == PAGE
                for event in page:
                    after = event.seq
                    ended = isinstance(event, TurnFinished)
                    begun = not event.resumed if isinstance(event, TurnStarted) else begun
                    if isinstance(event, MessageFinished):
                        finished.add(event.message)
                    yield event
            if after == start and not known:
                await store.run(threads.thread, thread)  # it is there
            known = True
            ended = ended or (begun and bus.runs_here(thread))  # its texts come by this bus
            opened = opened or await _stored_texts(store, subscription, ended=ended)
            unseen = [each for each in opened if told.get(each.message) != each.text]
            for delta in [each for each in unseen if each.message not in finished]:
                yield delta
            told = {delta.message: delta.text for delta in opened}
            complete = True
            while complete and (events := await subscription.take()) is not None:
                for event in events:
                    if isinstance(event, TextDelta):
                        told.pop(event.message, None)
                        if event.message not in finished:
                            yield event
                    elif event.seq > after + 1:
                        complete = False
                        break
                    elif event.seq == after + 1:
                        after = event.seq
                        yield event
