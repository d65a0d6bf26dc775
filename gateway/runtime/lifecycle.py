"""Lifecycle of a gateway, from recovery to the orderly end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from gateway.base.clock import ClockTrust
from gateway.events import TextDelta
from gateway.runtime.housekeeping import Housekeeping
from gateway.runtime.settings import ActiveSettings
from gateway.sessions.dispatcher import LocalDispatcher
from gateway.sessions.event_bus import EventBus
from gateway.sessions.expiry import Deadlines, RequestTimes
from gateway.sessions.lanes import Lanes
from gateway.sessions.live_team import REASON, WITHDRAWN, affected
from gateway.store.protocols import SessionStore
from gateway.store.rulebook import RecoveryWords
from gateway.store.turn_records import MAX_RESUMES

LOG = logging.getLogger("gateway")

RECOVERY = RecoveryWords(
    interrupted="The answer was interrupted. It continues from where it stopped.",
    parked=f"The answer was interrupted {MAX_RESUMES + 1} times, so it is not tried again. "
    "Your next message continues from there.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayParts:
    """Parts of a gateway. `clock` is the time of day."""

    store: SessionStore
    bus: EventBus
    dispatcher: LocalDispatcher
    sessions: Lanes
    using: ActiveSettings
    trust: ClockTrust
    clock: Callable[[], float]


class Lifecycle:
    """Lanes of one gateway, and tasks beside them.

    `boot` is an id of this run.
    """

    def __init__(self, parts: GatewayParts, *, boot: str) -> None:
        self._store = parts.store
        self._bus = parts.bus
        self._dispatcher = parts.dispatcher
        self._sessions = parts.sessions
        self._using = parts.using
        self._trust = parts.trust
        self._clock = parts.clock
        self._boot = boot
        self.deadlines = Deadlines(self._settle_due, parts.trust.now)
        """When requests expire, and people are reminded of them."""
        self.hurry = asyncio.Event()
        """Set by who does not want to wait for turns to reach a safe point at the end."""

    async def recover(self) -> None:
        """Go on with what an earlier process left."""
        for left in await self._store.recover(self._boot, RECOVERY):
            for message in left.open_messages:
                shown = TextDelta(
                    thread=left.thread,
                    turn=message.turn,
                    agent=message.agent,
                    message=message.message,
                    text=message.text,
                    replace=True,
                )
                self._bus.publish(left.thread, [shown])
            self._dispatcher.wake(left.thread, person=left.person, groups=left.groups)

    async def review(self) -> None:
        """Withdraw questions of teams that no longer exist."""
        changed = await affected(self._store, self._using.teams)
        gone = [thread.id for thread, fate in changed if fate == "begins anew"]
        if gone:
            added = await self._store.withdraw_questions(gone, reason=REASON, notice=WITHDRAWN)
            for thread, events in added.items():
                self._bus.publish(thread, events)

    async def work(self) -> None:
        """Run the lanes, and whatever else is to be done, until cancelled."""
        upkeep = Housekeeping(self.tidy)
        async with asyncio.TaskGroup() as group:
            group.create_task(upkeep.run(), name="gateway upkeep")
            group.create_task(self.deadlines.run(), name="gateway deadlines")
            group.create_task(self._sessions.closing.run(), name="gateway closing")
            await self._dispatcher.serve(self._sessions.drain)

    async def tidy(self) -> None:
        """Let go of what was not used for long."""
        self._sessions.evict(self._using.limits.idle)
        if self._using.limits.retention is not None and self._trust.holds():
            for thread in await self._store.expire(self._clock() - self._using.limits.retention):
                LOG.info("thread %s: deleted, nothing had happened in it for long", thread)
                self.gone(thread)

    async def _settle_due(self) -> float | None:
        """Expire and remind of requests; returns the next due time."""
        settled = await self._store.settle_due(
            RequestTimes(operators=self._using.access.operators),
            self._trust.now(),
            jumped=self._trust.jumped,
        )
        for thread, events in settled.events.items():
            self._bus.publish(thread, events)
        for thread, person in settled.ready:
            self._dispatcher.wake(thread, person=person)
        return settled.next_at

    def gone(self, thread: str) -> None:
        """Drop what there is of a thread that was deleted."""
        self._bus.end(thread)
        self._sessions.forget(thread)

    async def shut_down(self, lanes: asyncio.Task[None]) -> None:
        """Let turns reach a safe point, then cut them short.

        Nothing here may take long.
        """
        self._sessions.pause()
        async with asyncio.TaskGroup() as group:
            resting = group.create_task(self._dispatcher.rest(), name="gateway rest")
            hurry = group.create_task(self.hurry.wait(), name="gateway hurry")
            await asyncio.wait(
                [resting, hurry],
                timeout=self._using.limits.shutdown,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not resting.done():
                LOG.warning("turns that did not reach a safe point in time go on at the next start")
            resting.cancel()
            hurry.cancel()
        lanes.cancel()
        # A tool may refuse to be cancelled; the process ends without it.
        done, _ = await asyncio.wait([lanes], timeout=1.0)
        for task in done:
            if not task.cancelled() and (error := task.exception()):
                LOG.error("the lanes ended with an error", exc_info=error)
