"""Which thread works next: one turn per thread, threads side by side, people in rotation."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Protocol

LOG = logging.getLogger("gateway")

Drain = Callable[[str], Awaitable[bool]]
"""Runs at most one turn of a thread; True if the thread has more to do."""


class Dispatcher(Protocol):
    """Runs threads that have something to do."""

    def wake(self, thread: str, *, person: str = "", delay: float = 0.0) -> None:
        """Let the thread have its turn, on behalf of a person, not before `delay` seconds."""
        ...

    async def serve(self, drain: Drain) -> None:
        """Work until cancelled."""
        ...

    async def rest(self) -> None:
        """Start nothing any more, and wait until nothing runs."""
        ...


class LocalDispatcher:
    """Runs up to `limit` threads at a time in this process.

    Who waits is served person by person, so that someone with many busy threads delays others by
    one turn at most; a thread that has more to do goes to the end of its person's line.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: OrderedDict[str, deque[str]] = OrderedDict()
        self._waiting: set[str] = set()
        self._running: dict[str, str] = {}
        self._again: set[str] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._changed = asyncio.Event()
        self._resting = False

    def wake(self, thread: str, *, person: str = "", delay: float = 0.0) -> None:
        """Let the thread have its turn, on behalf of a person, not before `delay` seconds."""
        if delay > 0:
            self._wake_later(thread, person, delay)
        elif thread in self._running:
            self._again.add(thread)
        elif thread not in self._waiting:
            self._waiting.add(thread)
            self._lines.setdefault(person, deque()).append(thread)
            self._changed.set()

    def _wake_later(self, thread: str, person: str, delay: float) -> None:
        def due() -> None:
            self._timers.discard(handle)
            self.wake(thread, person=person)

        handle = asyncio.get_running_loop().call_later(delay, due)
        self._timers.add(handle)

    async def serve(self, drain: Drain) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    while self._lines and len(self._running) < self._limit and not self._resting:
                        thread, person = self._next()
                        self._running[thread] = person
                        group.create_task(self._run(drain, thread), name=f"lane {thread}")
                    self._changed.clear()
                    await self._changed.wait()
        finally:
            for handle in self._timers:
                handle.cancel()

    def _next(self) -> tuple[str, str]:
        person, line = self._lines.popitem(last=False)
        thread = line.popleft()
        if line:
            self._lines[person] = line
        self._waiting.discard(thread)
        return thread, person

    async def _run(self, drain: Drain, thread: str) -> None:
        more = False
        try:
            more = await drain(thread)
        except Exception:
            LOG.exception("thread %s: its lane failed", thread)
        finally:
            person = self._running.pop(thread)
            if more or thread in self._again:
                self._again.discard(thread)
                self.wake(thread, person=person)
            self._changed.set()

    async def rest(self) -> None:
        """Start nothing any more, and wait until nothing runs."""
        self._resting = True
        while self._running:
            self._changed.clear()
            await self._changed.wait()
