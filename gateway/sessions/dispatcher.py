"""Order of turns: one per thread, people in rotation."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol, TypeAlias

from gateway.base.cancelling import is_being_cancelled
from gateway.errors import GatewayError
from gateway.store.decisions import PersonLimits
from gateway.store.turn_records import SAME_HOLD, TOLD_AFTER, Hold, full_group

LOG = logging.getLogger("gateway")

WINDOW = 600.0
"""Seconds for which a turn counts after it began."""

LaneGroup: TypeAlias = tuple[str, str]
"""A kind, "team" or "workspace", and a name: what a thread is one of many of."""
LaneGroups: TypeAlias = tuple[LaneGroup, ...]

Drain = Callable[[str], Awaitable[bool]]
"""Runs at most one turn of a thread; True if the thread has more to do."""
TellHold = Callable[[str, Hold], Awaitable[None]]
"""Tells a thread that its next turn is held."""
FOR_A_MOMENT = Hold(limit="person_parallel_turns", seconds=1.0)
"""The hold of a turn beside one that is not counted yet, and will be in a moment."""
AGAIN = 1.0
"""Seconds until a thread is run again whose lane itself has failed."""
LOOK = 0.2
"""Seconds between two looks at all who wait: there may be thousands."""


async def tell_nobody(thread: str, hold: Hold) -> None:
    """Tell nobody of a hold."""


class Dispatcher(Protocol):
    """Runs threads that have something to do."""

    def wake(
        self,
        thread: str,
        *,
        person: str = "",
        delay: float = 0.0,
        limits: PersonLimits | None = None,
        groups: LaneGroups = (),
    ) -> None:
        """Run the thread's turn after `delay` seconds.

        It runs on behalf of a person and within their `limits`, as one of its `groups`.
        """
        ...

    def put_off(self, thread: str, delay: float) -> None:
        """Run a running thread again in `delay` seconds, unchanged."""
        ...

    def hasten(self, thread: str) -> None:
        """Run a waiting or running thread, for its same reasons, at once."""
        ...

    async def serve(self, drain: Drain) -> None:
        """Work until cancelled."""
        ...

    async def rest(self) -> None:
        """Start nothing any more, and wait until nothing runs."""
        ...


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Why a thread wants to run."""

    person: str
    limits: PersonLimits | None
    groups: LaneGroups


@dataclass(slots=True)
class Waiting:
    """A thread in its person's line."""

    request: RunRequest
    since: float
    told: Hold | None = None
    told_at: float = 0.0

    def knows(self, hold: Hold, now: float) -> bool:
        """True if the thread was told of this hold."""
        told = self.told
        if told is None or told.limit != hold.limit:
            return False
        moved = (now + hold.seconds) - (self.told_at + told.seconds)
        return told.seconds == hold.seconds or abs(moved) <= SAME_HOLD


class PersonRateLimiter:
    """Counts each person's turns. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()
        self._begun: dict[str, list[float]] = {}

    def hold(
        self, person: str, limits: PersonLimits | None, now: float, ahead: int = 0
    ) -> Hold | None:
        """The limit that holds the person's next turn, if any.

        How long it does is said of the one with so many `ahead`.
        """
        if limits is None:
            return None
        if self._running[person] >= limits.parallel:
            return Hold(limit="person_parallel_turns", most=limits.parallel)
        begun = self._begun.get(person, ())
        if len(begun) < limits.turns or begun[len(begun) - limits.turns] + WINDOW <= now:
            return None
        first = len(begun) - limits.turns + ahead % limits.turns
        seconds = begun[first] + WINDOW * (1 + ahead // limits.turns) - now
        return Hold(limit="person_turns", most=limits.turns, seconds=seconds)

    def begin(self, person: str, limits: PersonLimits | None, now: float) -> None:
        """Count a turn of the person that has begun."""
        self._forget(now)
        self._running[person] += 1
        if limits is not None:
            begun = self._begun.setdefault(person, [])
            begun.append(now)
            del begun[: -limits.turns]  # no more are ever looked at

    def take_back(self, person: str) -> None:
        """Count no turn that did not begin after all."""
        if begun := self._begun.get(person):
            begun.pop()
            if not begun:
                del self._begun[person]

    def end(self, person: str) -> None:
        """Count a turn of the person as ended."""
        self._running[person] -= 1
        if not self._running[person]:
            del self._running[person]

    def _forget(self, now: float) -> None:
        """Drop people without recent turns, two at a time, in rotation."""
        for person in list(islice(self._begun, 2)):
            begun = self._begun.pop(person)
            if begun[-1] > now - WINDOW:
                self._begun[person] = begun


class LocalDispatcher:
    """Runs up to `limit` threads at a time in this process.

    Who waits is served person by person, so that someone with many busy threads delays others by
    one turn at most; a thread that has more to do goes to the end of its person's line. A person
    or group whose limit is reached is passed over until it is not.
    """

    def __init__(
        self,
        limit: int,
        group_limits: Mapping[str, int] | None = None,
        *,
        tell: TellHold = tell_nobody,
    ) -> None:
        self._tell = tell
        self.limit = limit
        """Most threads that may run at a time."""
        self.group_limits = group_limits or {}
        """Most running threads of each group, by its kind."""
        self._lines: OrderedDict[str, deque[str]] = OrderedDict()
        self._waiting: dict[str, Waiting] = {}
        self._running: dict[str, RunRequest] = {}
        self._again: dict[str, RunRequest] = {}
        self._claimed: dict[str, RunRequest] = {}
        """Threads whose turn has begun in the store."""
        self._kept: Counter[str] = Counter()
        """People for whose next turn there is room, and how many."""
        self._groups: Counter[LaneGroup] = Counter()
        self._rates = PersonRateLimiter()
        self._timers: set[asyncio.TimerHandle] = set()
        self._delayed: dict[str, tuple[asyncio.TimerHandle, RunRequest]] = {}
        self._look: asyncio.TimerHandle | None = None
        self._looked_at = -math.inf
        """When it was last looked at what holds those who wait."""
        self._changed = asyncio.Event()
        self._resting = False

    def wake(
        self,
        thread: str,
        *,
        person: str = "",
        delay: float = 0.0,
        limits: PersonLimits | None = None,
        groups: LaneGroups = (),
    ) -> None:
        """Run the thread's turn after `delay` seconds."""
        running = self._running.get(thread)
        request = RunRequest(person, limits, groups or (running.groups if running else ()))
        if delay > 0:
            self._wake_later(thread, request, delay)
        else:
            self._wake(thread, request)

    @contextmanager
    def room(self, person: str, limits: PersonLimits | None) -> Generator[bool]:
        """Room for a turn of the person, kept during the context.

        False where such a turn would not begin at once.
        """
        if not self._has_room(person, limits):
            yield False
            return
        self._kept[person] += 1
        try:
            yield True
        finally:
            self._kept[person] -= 1
            if not self._kept[person]:
                del self._kept[person]
            self._changed.set()

    def _has_room(self, person: str, limits: PersonLimits | None) -> bool:
        # Whoever waits comes first, and a thread's groups are not known before it is read.
        if self._resting or self._lines or self.group_limits:
            return False
        if self._begun() >= self.limit:
            return False
        now = asyncio.get_running_loop().time()
        return not self._hold(RunRequest(person, limits, ()), now)

    def _begun(self) -> int:
        """Number of turns that run or are about to."""
        return len(self._running) + len(self._claimed) + self._kept.total()

    def _hold(self, request: RunRequest, now: float, ahead: int = 0) -> Hold | None:
        """The limit of groups or person that holds such a turn."""
        for group in request.groups if self.group_limits else ():
            if self._is_full(group):
                return full_group(group[0], self.group_limits[group[0]])
        person, limits = request.person, request.limits
        # One that is about to run is not counted yet; it will be in a moment.
        if limits is not None and (
            person in self._kept or any(each.person == person for each in self._claimed.values())
        ):
            return FOR_A_MOMENT
        return self._rates.hold(person, limits, now, ahead)

    def run(
        self,
        thread: str,
        *,
        person: str = "",
        limits: PersonLimits | None = None,
        groups: LaneGroups = (),
    ) -> None:
        """Run the thread, whose turn is claimed, before all that wait."""
        if thread in self._waiting:  # it must not run twice at a time
            self._again[thread] = self._leave_line(thread)
        self._claimed[thread] = RunRequest(person, limits, groups)
        self._changed.set()

    def has(self, thread: str) -> bool:
        """True if the thread runs, or will by itself."""
        own = (self._running, self._claimed, self._waiting, self._delayed)
        return any(thread in each for each in own)

    def look(self) -> None:
        """Look for threads that wait elsewhere: here there are none."""

    def put_off(self, thread: str, delay: float) -> None:
        """Run a running thread again in `delay` seconds, unchanged."""
        if (request := self._running.get(thread)) is not None:
            if request.limits is not None:
                self._rates.take_back(request.person)
            self._wake_later(thread, request, delay)

    def hasten(self, thread: str) -> None:
        """Run a waiting or running thread, for its same reasons, at once."""
        request = self._undelayed(thread) or self._running.get(thread)
        if request is not None:
            self._wake(thread, request)

    def _undelayed(self, thread: str) -> RunRequest | None:
        """The request of a sleeping thread, which is cancelled."""
        if (delayed := self._delayed.pop(thread, None)) is None:
            return None
        handle, request = delayed
        handle.cancel()
        self._timers.discard(handle)
        return request

    def _wake_later(self, thread: str, request: RunRequest, delay: float) -> None:
        """Wake the thread at that time, in place of an earlier plan."""
        self._undelayed(thread)

        def due() -> None:
            del self._delayed[thread]
            self._wake(thread, request)

        self._delayed[thread] = self._later(delay, due), request

    def _wake(self, thread: str, request: RunRequest) -> None:
        if thread in self._running or thread in self._claimed:
            self._again.setdefault(thread, request)
            return
        if thread not in self._waiting:
            now = asyncio.get_running_loop().time()
            self._waiting[thread] = Waiting(request, now)
            self._lines.setdefault(request.person, deque()).append(thread)
            self._changed.set()
            return
        waiting = self._waiting[thread]
        waiting.told = None  # the message that it was told of may be gone
        if request.limits is None and waiting.request.limits is not None:
            # An answer, or a stop: it does not wait for what holds its thread up.
            waiting.request = replace(waiting.request, limits=None)
        self._changed.set()

    def _later(self, delay: float, act: Callable[[], None]) -> asyncio.TimerHandle:
        def due() -> None:
            self._timers.discard(handle)
            act()

        handle = asyncio.get_running_loop().call_later(delay, due)
        self._timers.add(handle)
        return handle

    async def serve(self, drain: Drain) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    while (thread := self._next()) is not None:
                        group.create_task(self._run(drain, thread), name=f"lane {thread}")
                    for thread, hold in self._untold_holds():
                        telling = self._tell_hold(thread, hold)
                        group.create_task(telling, name=f"thread {thread} is held")
                    self._changed.clear()
                    await self._changed.wait()
        finally:
            for handle in self._timers:
                handle.cancel()

    def _next(self) -> str | None:
        """The next thread, counted as running; None if there is none."""
        if len(self._running) >= self.limit:
            return None
        for thread in self._claimed:
            if thread not in self._running:
                self._count(thread, self._claimed.pop(thread), asyncio.get_running_loop().time())
                return thread
        if self._resting or self._begun() >= self.limit:
            return None
        now = asyncio.get_running_loop().time()
        for line in self._lines.values():
            for thread in line:
                if self._hold(self._waiting[thread].request, now) is None:
                    self._count(thread, self._leave_line(thread), now)
                    return thread
        return None

    def _untold_holds(self) -> list[tuple[str, Hold]]:
        """Threads that are held for a while and were not told.

        Whatever waits is looked at again when a wait of it is over.
        """
        if self._resting or not self._lines:
            return []
        now, delays = asyncio.get_running_loop().time(), [math.inf]
        if (early := self._looked_at + min(LOOK, TOLD_AFTER) - now) > 0:
            self._look_again(early)
            return []
        self._looked_at = now
        full = (
            Hold(limit="parallel_turns", most=self.limit) if self._begun() >= self.limit else None
        )
        untold: list[tuple[str, Hold]] = []
        for line in self._lines.values():
            for ahead, thread in enumerate(line):
                waiting = self._waiting[thread]
                if (hold := self._hold(waiting.request, now, ahead) or full) is None:
                    continue  # it is about to run
                delays.append(hold.seconds)
                known = hold is FOR_A_MOMENT or waiting.knows(hold, now)
                if known or hold.seconds <= TOLD_AFTER:
                    continue
                if (early := waiting.since + TOLD_AFTER - now) > 0:
                    delays.append(early)
                    continue
                waiting.told, waiting.told_at = hold, now
                untold.append((thread, hold))
        self._look_again(min(delays))
        return untold

    async def _tell_hold(self, thread: str, hold: Hold) -> None:
        try:
            await self._tell(thread, hold)
        except GatewayError as error:
            LOG.warning("thread %s: it is told later that it waits: %s", thread, error)
            if (waiting := self._waiting.get(thread)) is not None:
                waiting.told = None
        except Exception:  # the turns must not end with it
            LOG.exception("thread %s: it can't be told that it waits", thread)

    def _is_full(self, group: LaneGroup) -> bool:
        limit = self.group_limits.get(group[0])
        return limit is not None and self._groups[group] >= limit

    def _look_again(self, delay: float) -> None:
        if self._look:
            self._look.cancel()
            self._timers.discard(self._look)
        self._look = self._later(delay, self._changed.set) if delay < math.inf else None

    def _leave_line(self, thread: str) -> RunRequest:
        """The request of a waiting thread, which waits no more."""
        request = self._waiting.pop(thread).request
        line = self._lines.pop(request.person)
        line.remove(thread)
        if line:
            self._lines[request.person] = line
        return request

    def _count(self, thread: str, request: RunRequest, now: float) -> None:
        """Count the thread as running."""
        self._running[thread] = request
        for group in request.groups:
            self._groups[group] += 1
        self._rates.begin(request.person, request.limits, now)

    async def _run(self, drain: Drain, thread: str) -> None:
        more = False
        try:
            more = await drain(thread)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            LOG.exception("thread %s: its lane failed", thread)
            self._wake_later(thread, self._running[thread], AGAIN)
        finally:
            request = self._running.pop(thread)
            self._rates.end(request.person)
            for group in request.groups:
                self._groups[group] -= 1
                if not self._groups[group]:
                    del self._groups[group]
            again = self._again.pop(thread, None)
            if more or again:
                self._go_on(thread, again or request)
            self._changed.set()
            self._ended(request)

    def _go_on(self, thread: str, request: RunRequest) -> None:
        """Run a thread that has more to do."""
        self._wake(thread, request)

    def _ended(self, request: RunRequest) -> None:
        """A turn has ended."""

    async def rest(self) -> None:
        """Start nothing any more, and wait until nothing runs."""
        self._resting = True
        while self._running or self._claimed or self._kept:
            self._changed.clear()
            await self._changed.wait()
