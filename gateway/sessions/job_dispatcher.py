"""Order of turns on one of several nodes: by jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from gateway.base.cancelling import is_being_cancelled
from gateway.errors import GatewayError
from gateway.events import SessionEvent
from gateway.sessions.dispatcher import LocalDispatcher, RunRequest, TellHold, tell_nobody
from gateway.store.jobs import FoundWork, JobSearch, LaneJob
from gateway.store.turn_records import ClaimedTurn, Hold

LOG = logging.getLogger("gateway")

LOOK = 2.0
"""Seconds between two looks for jobs that nobody has told of."""
LOCKED = 0.1
"""The same where somebody just changes, or takes, the jobs that are there."""
SIDE_BY_SIDE = 4
"""Jobs that a node takes at a time."""


class JobStore(Protocol):
    """The part of a store that keeps jobs."""

    async def take(self, search: JobSearch) -> FoundWork | None:
        """Take a thread that waits; None if none does."""
        ...

    async def next_job(self, queues: Sequence[str]) -> float | None:
        """Seconds until a thread of these queues may run; None without one."""
        ...

    async def defer(self, job: LaneJob) -> None:
        """Let a node run the thread."""
        ...

    async def due_threads(self, queues: Sequence[str]) -> Sequence[str]:
        """Some threads that have waited, and were not told so."""
        ...


class JobDispatcher(LocalDispatcher):
    """Runs claimed turns, and takes jobs while there is room.

    Threads that wait are rows, not in memory: any node with room takes them, in the order of the
    store. `search` says what this node looks for, `take_up` is told each turn that it has claimed,
    `told` each event of a thread whose turn is held.
    """

    def __init__(
        self,
        limit: int,
        group_limits: Mapping[str, int] | None,
        store: JobStore,
        *,
        search: Callable[[], JobSearch],
        take_up: Callable[[ClaimedTurn], None],
        tell: TellHold = tell_nobody,
        told: Callable[[SessionEvent], None],
    ) -> None:
        super().__init__(limit, group_limits, tell=tell)
        self._told = told
        self._store = store
        self._search = search
        self._take_up = take_up
        self._bell = asyncio.Event()
        self._deferring: set[asyncio.Task[None]] = set()
        self._was_full = False
        """There was no room for what may wait."""

    def look(self) -> None:
        """Look for jobs at once."""
        self._bell.set()

    def hasten(self, thread: str) -> None:
        """Run a thread at once; the store has hastened its job."""
        super().hasten(thread)
        self.look()

    @property
    def full(self) -> bool:
        """True if there is no room for one more turn."""
        return self._begun() >= self.limit

    async def feed(self) -> None:
        """Take jobs until cancelled."""
        while True:
            self._bell.clear()
            pause = LOOK
            try:
                pause = await self._take_all()
                self._was_full = self.full
                if self._was_full and not self._resting:
                    await self._tell_all()
            except GatewayError as error:
                LOG.warning("looking for work failed, and is tried again: %s", error)
            except (Exception, asyncio.CancelledError) as error:  # the turns must not end with it
                if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                    raise
                LOG.exception("looking for work failed, and is tried again")
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._bell.wait()

    async def _take_all(self) -> float:
        """Take jobs while there is room; seconds until the next look."""
        while not self._resting and not self.full:
            wait = await self._store.next_job(self._search().queues)
            if wait is None or wait > 0:
                return min(LOOK, wait or LOOK)
            room = min(SIDE_BY_SIDE, self.limit - self._begun())
            if not any(await asyncio.gather(*(self._take() for _ in range(room)))):
                return LOCKED
        return LOOK

    async def _tell_all(self) -> None:
        """Tell threads for which no node has room."""
        hold = Hold(limit="parallel_turns", most=self.limit)
        for thread in await self._store.due_threads(self._search().queues):
            await self._tell_hold(thread, hold)

    async def _take(self) -> bool:
        work = await self._store.take(self._search())
        if work is None:
            return False
        for event in work.held:
            self._told(event)
        if work.turn is not None:
            self._take_up(work.turn)
        if (job := work.job).thread:
            self.run(job.thread, person=job.person, limits=job.limits, groups=job.groups)
        return True

    def _go_on(self, thread: str, request: RunRequest) -> None:
        """Let a node run what the thread has more."""
        job = LaneJob(
            thread=thread, person=request.person, limits=request.limits, groups=request.groups
        )
        self._start(self._defer(job), f"thread {thread} goes on")

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._deferring.add(task)
        task.add_done_callback(self._deferring.discard)

    def _ended(self, request: RunRequest) -> None:
        if self._was_full:
            self.look()

    async def _defer(self, job: LaneJob) -> None:
        try:
            await self._store.defer(job)
        except GatewayError as error:  # a node finds it among what has no job
            LOG.warning("thread %s: goes on a little later: %s", job.thread, error)
        self.look()

    async def rest(self) -> None:
        """Start nothing any more, and wait until nothing runs."""
        await super().rest()
        if self._deferring:
            await asyncio.wait(self._deferring)
