"""The writes of one turn, in their order: committed first, shown next."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from gateway.budgets.ledger import Meter
from gateway.errors import LeaseLost, NodeCutOff
from gateway.events import InputResolved, Notice, SessionEvent, shows_work
from gateway.sessions.event_bus import EventBus
from gateway.store.protocols import SessionStore
from gateway.store.records import Request
from gateway.store.turn_records import (
    ApprovalMode,
    Lease,
    QueuedMessage,
    StoredUpdate,
    ThreadContext,
    TurnUpdate,
)
from gateway.store.units import aside, grants, heard, joining
from gateway.store.units import events as event_units

LOG = logging.getLogger("gateway.events")

CUT_OFF = 15.0
"""Seconds for which a tool waits for a node that is cut off."""
LOOK = 0.1
"""Seconds between two looks."""


def _always() -> bool:
    return True


class TurnWriter:
    """Writer under the turn's lease; raises LeaseLost once that is lost."""

    def __init__(
        self,
        store: SessionStore,
        bus: EventBus,
        lease: Lease,
        meter: Meter,
        speaks: Callable[[], bool] = _always,
    ) -> None:
        self._speaks = speaks
        self._store = store
        self._bus = bus
        self.lease = lease
        self.meter = meter
        """Counts what the turn uses."""
        self.showed_work = False
        """People see something of what the team does in this attempt."""
        self._put_off: TurnUpdate | None = None
        self._due: asyncio.Handle | None = None
        self._writing: asyncio.Task[StoredUpdate] | None = None
        self.unwritable: Callable[[], None] = _nothing
        """Called where what was put off can't be written: the run must not go on."""

    @property
    def thread(self) -> str:
        """The turn's thread."""
        return self.lease.thread

    @property
    def turn(self) -> str:
        """The turn's id."""
        return self.lease.turn

    async def until_speaking(self) -> None:
        """Wait until no other node can have the turn. Raises NodeCutOff."""
        loop = asyncio.get_running_loop()
        until = loop.time() + CUT_OFF
        while not self._speaks():  # after an outage the next heartbeat is near
            if loop.time() > until:
                raise NodeCutOff
            await asyncio.sleep(LOOK)

    async def write(self, record: TurnUpdate) -> StoredUpdate:
        """Commit what was put off, this update and usage; then show it."""
        await self._settle()
        if (before := self._pop_put_off()) is not None:
            record = before.followed_by(record)
        return await self._commit(record)

    async def tell(self, event: SessionEvent) -> None:
        """Commit and show an event, apart from what was put off."""
        await self._commit(TurnUpdate(events=(event,)))

    async def put_off(self, record: TurnUpdate) -> None:
        """Put the update off until the next write or wait."""
        await self._settle()
        if (before := self._pop_put_off()) is not None:
            record = before.followed_by(record)
        self._look_for_work(record)
        self._put_off = record
        self._due = asyncio.get_running_loop().call_soon(self._write_put_off)

    def _look_for_work(self, record: TurnUpdate) -> None:
        self.showed_work = self.showed_work or any(map(shows_work, record.events))

    def _pop_put_off(self) -> TurnUpdate | None:
        record, self._put_off = self._put_off, None
        if self._due is not None:
            self._due.cancel()
            self._due = None
        return record

    def _write_put_off(self) -> None:
        if (record := self._pop_put_off()) is not None:
            # Whoever writes next, or leaves, waits for it.
            loop = asyncio.get_running_loop()
            self._writing = loop.create_task(self._commit(record), name=f"turn {self.turn} writes")
            self._writing.add_done_callback(self._written)

    def _written(self, writing: asyncio.Task[StoredUpdate]) -> None:
        if writing.cancelled() or writing.exception() is not None:
            self.unwritable()  # whoever writes next learns why

    async def _settle(self) -> None:
        """Wait for the write that is under way. Raises its error."""
        if (writing := self._writing) is not None:
            await asyncio.wait([writing])  # who is cancelled here leaves it to its end
            self._writing = None
            writing.result()

    async def discard(self) -> None:
        """Write no more: what was put off is lost with the lease."""
        self._pop_put_off()
        with suppress(Exception):  # whatever it is, it was told where it was written
            await self._settle()

    async def _commit(self, record: TurnUpdate) -> StoredUpdate:
        uses, told = self.meter.drain()
        if uses or told:
            notices = (Notice(thread=self.thread, turn=self.turn, text=text) for text in told)
            record = replace(record, uses=tuple(uses), events=(*record.events, *notices))
        self._look_for_work(record)
        try:
            recorded = await self._store.record(self.lease, record)
        except Exception:  # one who is cancelled here has written all the same
            self.meter.put_back(uses, told)
            raise
        finally:
            if uses:
                self.meter.recorded()
        self.show(recorded.events)
        return recorded

    async def context(self) -> ThreadContext:
        """Origins of what the thread's team has read."""
        return await self._store.run(heard.context, self.thread)

    async def approval_mode(self) -> ApprovalMode:
        """The thread's mode of approval, at this moment."""
        return await self._store.run(grants.approval_mode, self.thread)

    async def kept_text(self, name: str) -> str | None:
        """A text of the thread that was too long for a model."""
        return await self._store.run(aside.kept_text, self.thread, name)

    async def has_shown_work(self) -> bool:
        """True if people have seen something of this turn's work."""
        if not self.showed_work:
            earlier = await self._store.run(event_units.of_turn, self.thread, self.turn)
            self.showed_work = any(map(shows_work, earlier))
        return self.showed_work

    async def settled(self, request: str) -> Request:
        """The request, once it is answered, expired or closed."""
        with self._bus.subscription(self.thread) as events:
            while (found := await self._store.run(event_units.request, request)).state == "open":
                while (taken := await events.take()) is not None:
                    if any(isinstance(e, InputResolved) and e.request == request for e in taken):
                        break
                else:
                    if events.closed:
                        raise LeaseLost(self.thread)
                    events.start_over()  # some were lost, perhaps the one
        return found

    async def join(self) -> tuple[QueuedMessage, ...]:
        """Take waiting messages into the turn and show them."""
        if self._put_off or self._writing:
            await self.write(TurnUpdate())
        joined = await self._store.run(joining.join, self.lease)
        self.show(joined.events)
        return joined.messages

    def show(self, events: Iterable[SessionEvent]) -> None:
        """Show what needs no commit, or has it."""
        events = tuple(events)
        if LOG.isEnabledFor(logging.DEBUG):
            for event in events:
                if event.seq:
                    LOG.debug("%s", event.kind, extra={"event": f"{self.thread}:{event.seq}"})
        self._bus.publish(self.thread, events)


def _nothing() -> None:
    pass
