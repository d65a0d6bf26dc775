"""Lifecycle of a gateway, from recovery to the orderly end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from gateway.base.calendar import local_time
from gateway.base.clock import ClockTrust
from gateway.base.describe import describe
from gateway.base.metrics import Metrics
from gateway.errors import GatewayClosed, GatewayError
from gateway.events import TextDelta
from gateway.runtime.retention import Retention
from gateway.runtime.settings import ActiveSettings
from gateway.sessions.dispatcher import LocalDispatcher
from gateway.sessions.event_bus import EventBus
from gateway.sessions.expiry import Deadlines, RequestTimes
from gateway.sessions.lanes import Lanes
from gateway.sessions.live_team import REASON, WITHDRAWN, changed_threads
from gateway.sessions.nodes import Nodes
from gateway.store.protocols import SessionStore
from gateway.store.records import StoreLoss
from gateway.store.rulebook import DoubtWords, RecoveryWords, RequestDating
from gateway.store.turn_records import MAX_RESUMES
from gateway.store.units import clock as clock_units
from gateway.store.units import expiry, losses, recovery, search_index, team_changes

LOG = logging.getLogger("gateway")

LEAVE = 1.0
"""Seconds in which the store is told that this node ends."""
LAST, SILENT = 0.5, 0.1
"""Seconds after those of the turns in which what is left ends, and where the store says nothing."""
TIDY_EVERY = 60.0
"""Seconds between two rounds of housekeeping."""
UPKEEP = "upkeep"
"""The lease of the node that keeps time, lets old things go, reminds, and indexes."""
INDEX_EVERY = 15.0
"""Seconds between two rounds of indexing new texts for searches."""

RECOVERY = RecoveryWords(
    interrupted="The answer was interrupted. It continues from where it stopped.",
    parked=f"The answer was interrupted {MAX_RESUMES + 1} times, so it is not tried again. "
    "Your next message continues from there.",
    reason="interrupted too often",
    mode_ended="The mode of approval has ended: tool calls ask as their rules say.",
)


def doubt_words(loss: StoreLoss, zone: str) -> DoubtWords:
    """Words for threads whose unfinished work may have been done."""
    since = _time(loss.since, zone)
    match loss.cause:
        case "restored":
            told = f"Parley was restored from a copy of {since}."
        case "damaged":
            told = f"Parley's store was damaged, and what happened here after {since} is lost."
    return DoubtWords(
        notice=f"{told} This may have been answered since, so it is not answered again by itself. "
        "/retry continues, and so does your next message.",
        command="/retry",
        label="Continue",
        reason="it may have been done already",
    )


def loss_sentence(loss: StoreLoss, zone: str) -> str:
    """The loss in a sentence for the operator."""
    since = _time(loss.since, zone)
    match loss.cause:
        case "restored":
            told = f"a backup took its place, which has everything up to {since}"
        case "damaged":
            told = (
                f"{loss.commits} commits are missing after {since}: its write-ahead log was"
                " damaged, or its file was exchanged"
            )
    return f"{told}. Unfinished threads are parked: /retry in a thread continues it"


def _time(at: float, zone: str) -> str:
    return f"{local_time(at, zone):%Y-%m-%d %H:%M %Z}" if at else "its beginning"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayParts:
    """Parts of a gateway. `clock` is the time of day."""

    store: SessionStore
    bus: EventBus
    dispatcher: LocalDispatcher
    sessions: Lanes
    nodes: Nodes
    using: ActiveSettings
    trust: ClockTrust
    clock: Callable[[], float]
    vitals: Metrics


async def repeat(work: Callable[[], Awaitable[None]], what: str, every: float) -> None:
    """Do some housekeeping again and again, even if it fails."""
    while True:
        try:
            await work()
        except GatewayError as error:
            LOG.warning("%s failed, and is tried again: %s", what, error)
        except Exception:  # the turns must not end with it
            LOG.exception("%s failed, and is tried again", what)
        await asyncio.sleep(every)


class Lifecycle:
    """Lanes of one gateway, and tasks beside them, in the run `boot`."""

    def __init__(self, parts: GatewayParts, *, boot: str) -> None:
        self._store = parts.store
        self._bus = parts.bus
        self._dispatcher = parts.dispatcher
        self._sessions = parts.sessions
        self._nodes = parts.nodes
        self._using = parts.using
        self._trust = parts.trust
        self._vitals = parts.vitals
        self._boot = boot
        self.retention = Retention(parts.store, parts.trust, parts.clock, self.gone)
        """Deletes old threads."""
        self.deadlines = Deadlines(self._settle_due, parts.trust.now)
        """When requests expire, and people are reminded of them."""
        self.is_open = False
        """The gateway was entered and does not end."""
        self.hurry = asyncio.Event()
        """Set by who does not want to wait for turns to reach a safe point at the end."""

    def check_open(self) -> None:
        """Check that the gateway was entered and does not end. Raises GatewayClosed."""
        if not self.is_open:
            raise GatewayClosed

    async def recover(self) -> None:
        """Go on with what an earlier process left."""
        words = RECOVERY
        if loss := await self._store.run(losses.untold_loss):
            words = replace(RECOVERY, doubt=doubt_words(loss, self._using.limits.timezone))
            text = loss_sentence(loss, self._using.limits.timezone)
            LOG.error("%s", text)
            self._vitals.remark("store", text)
        self._trust.begin(await self._store.run(clock_units.known_time, self._trust.now()))
        asked = RequestDating(by=self._trust.now(), lag=self._trust.lag)
        for left in await self._store.run(recovery.recover, self._boot, words, asked):
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
        """Withdraw questions of teams that no longer exist.

        Those of another config, in the terminal, exist there.
        """
        changed = await changed_threads(self._store, self._using.teams)
        own = [each for each in changed if not each[0].is_foreign(self._using.teams.origin)]
        gone = [thread.id for thread, fate in own if fate == "begins anew"]
        if gone:
            added = await self._store.run(
                team_changes.withdraw_questions, gone, reason=REASON, notice=WITHDRAWN
            )
            for thread, events in added.items():
                self._bus.publish(thread, events)

    async def work(self) -> None:
        """Run the lanes, and whatever else is to be done, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(self.tidy, "tidying up", TIDY_EVERY), name="gateway upkeep")
            group.create_task(
                repeat(self.index, "indexing texts", INDEX_EVERY), name="gateway index"
            )
            group.create_task(self.deadlines.run(), name="gateway deadlines")
            group.create_task(self._sessions.closing.run(), name="gateway closing")
            group.create_task(self._sessions.titler.run(), name="gateway titles")
            serving = self._dispatcher.serve(self._sessions.drain)
            group.create_task(serving, name="gateway dispatcher")
            group.create_task(self._nodes.work(), name="gateway nodes")

    async def tidy(self) -> None:
        """Let go of what was not used for long."""
        self._sessions.evict(self._using.limits.idle)
        if not await self._nodes.hold(UPKEEP):
            return
        await self._store.run(clock_units.keep_time, self._trust.known())
        await self.retention.round(self._using.limits)

    async def index(self) -> None:
        """Index new texts, in a third of the time at most.

        What comes meanwhile is left to the next round, with the thread's further texts.
        """
        more = await self._nodes.hold(UPKEEP) and await self._store.run(search_index.unindexed)
        while more:
            began = time.monotonic()
            more = await self._store.run(search_index.index_words) >= search_index.TEXTS
            await asyncio.sleep(2 * (time.monotonic() - began))

    async def _settle_due(self) -> float | None:
        """Expire and remind of requests; returns the next due time."""
        if not await self._nodes.hold(UPKEEP):
            return None
        settled = await self._store.run(
            expiry.settle_due,
            RequestTimes(operators=self._using.access.operators),
            self._trust.now(),
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
        """Let turns reach a safe point, then cut them short; within seconds."""
        self.is_open = False
        self._sessions.pause()
        safe = time.monotonic() + self._using.limits.shutdown
        drained = await self._for_the_others(self._nodes.drain, safe + LAST)
        async with asyncio.TaskGroup() as group:
            resting = group.create_task(self._dispatcher.rest(), name="gateway rest")
            hurry = group.create_task(self.hurry.wait(), name="gateway hurry")
            await asyncio.wait(
                [resting, hurry],
                timeout=max(0.0, safe - time.monotonic()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not resting.done():
                LOG.warning("turns that did not reach a safe point in time go on at the next start")
            resting.cancel()
            hurry.cancel()
        lanes.cancel()
        # A tool may refuse to be cancelled; the process ends without it.
        left = safe + (LAST if drained else SILENT) - time.monotonic()
        done, _ = await asyncio.wait([lanes], timeout=max(0.0, left))
        for task in done:
            if not task.cancelled() and (error := task.exception()):
                LOG.error("the lanes ended with an error", exc_info=error)
        if drained:
            await self._for_the_others(self._nodes.leave, safe + LAST)

    async def _for_the_others(self, leave: Callable[[], Awaitable[None]], until: float) -> bool:
        """Leave work to other nodes, until a time of the monotonic clock.

        Without that they find it a little later.
        """
        try:
            async with asyncio.timeout(min(LEAVE, until - time.monotonic())):
                await leave()
        except (GatewayError, TimeoutError) as error:
            LOG.warning("other nodes find this one's work a little later: %s", describe(error))
            return False
        return True
