"""The writes of one turn: committed first, shown next."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from gateway.budgets import Meter
from gateway.bus import EventBus
from gateway.errors import GatewayError
from gateway.events import Notice, SessionEvent
from gateway.store.protocols import SessionStore
from gateway.store.work import Lease, QueuedMessage, Record, Recorded

LOG = logging.getLogger("gateway.events")


class TurnLog:
    """Writes under the turn's lease. Every write raises Fenced once the lease is lost."""

    def __init__(self, store: SessionStore, bus: EventBus, lease: Lease, meter: Meter) -> None:
        self._store = store
        self._bus = bus
        self.lease = lease
        self.meter = meter
        """Counts what the turn uses."""

    @property
    def thread(self) -> str:
        """The turn's thread."""
        return self.lease.thread

    @property
    def turn(self) -> str:
        """The turn's id."""
        return self.lease.turn

    async def write(self, record: Record) -> Recorded:
        """Commit, then show what was committed. What models were used for goes with it."""
        uses, told = self.meter.take()
        if uses or told:
            notices = [Notice(thread=self.thread, turn=self.turn, text=text) for text in told]
            record = replace(record, uses=uses, events=[*record.events, *notices])
        try:
            recorded = await self._store.record(self.lease, record)
        except GatewayError:  # one who is cancelled here has written all the same
            self.meter.put_back(uses, told)
            raise
        self.show(recorded.events)
        return recorded

    async def join(self) -> tuple[QueuedMessage, ...]:
        """Take what waits into the turn, if it may join it, and show that."""
        joined = await self._store.join(self.lease)
        self.show(joined.events)
        return joined.messages

    def show(self, events: Iterable[SessionEvent]) -> None:
        """Show what needs no commit, or has it."""
        events = tuple(events)
        if LOG.isEnabledFor(logging.INFO):
            for event in events:
                if event.seq:
                    LOG.info("%s", event.kind, extra={"event": f"{self.thread}:{event.seq}"})
        self._bus.publish(self.thread, events)
