"""Delivery of threads to a chat platform: every event, in order, once.

    async with delivering(host, surface):
        ...                                   # take what people write, until cancelled

What is not told yet when the context is entered is told then, after a crash, too. See
`gateway.surface` for what a platform has to be able to do, and docs/delivery.md for the promise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

from gateway.adapter import AuthError
from gateway.base.cancelling import is_being_cancelled
from gateway.base.clock import Clock, WallClock, sleep
from gateway.delivery.home_pages import kept_homes
from gateway.delivery.homes import Homes
from gateway.delivery.writer import Writer
from gateway.errors import (
    GatewayClosed,
    GatewayError,
    NodeCutOff,
    NotFound,
    StoreFull,
    StoreUnwritable,
)
from gateway.outbox import DeliveryHost, ThreadActivity
from gateway.store.units import outbox
from gateway.surface import Place, TextSurface

LOG = logging.getLogger("gateway.delivery")

FOREIGN = 1000
"""Threads of other platforms that are remembered."""
TRIES = 5
"""Failures of a thread's writer in a row, before it waits for an event."""
LONGEST_DELAY = 60.0
"""Seconds between two tries while the store takes nothing."""


@asynccontextmanager
async def delivering(
    host: DeliveryHost,
    surface: TextSurface,
    *,
    homes: Homes | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[None]:
    """Write all threads of the surface's platform, within the context.

    `homes` are people's own pages there. Raises AuthError once the platform refuses the
    credentials.
    """
    clock = clock or WallClock()
    writers = _Writers(host, surface, clock)
    try:
        async with asyncio.TaskGroup() as group, kept_homes(homes, surface, clock):
            serving = group.create_task(writers.serve(group), name=f"writes to {surface.platform}")
            try:
                yield
            finally:
                serving.cancel()
                writers.cancel()
    except BaseExceptionGroup as errors:
        alone = list(_leaves(errors))
        refused = next((error for error in alone if isinstance(error, AuthError)), None)
        if refused is not None:
            raise refused from errors
        if len(alone) == 1:
            raise alone[0] from errors
        raise


class _StoreRefusal(Exception):
    """The store took nothing; its cause says why."""


class _Writers:
    """A writer for each thread of which something is not told."""

    def __init__(self, host: DeliveryHost, surface: TextSurface, clock: Clock) -> None:
        self._host = host
        self._surface = surface
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._foreign: dict[str, None] = {}

    async def serve(self, group: asyncio.TaskGroup) -> None:
        """Begin writers until cancelled, or until the gateway ends."""
        with self._host.activity() as activity:
            for thread in await self._host.outbox.run(
                outbox.undelivered_threads, self._surface.platform
            ):
                self._begin(group, thread)
            await self._follow(group, activity)

    async def _follow(self, group: asyncio.TaskGroup, activity: ThreadActivity) -> None:
        while (threads := await activity.take()) is not None:
            for thread in threads:
                if thread in self._tasks:
                    self._again.add(thread)
                elif thread not in self._foreign:
                    self._begin(group, thread)

    def _begin(self, group: asyncio.TaskGroup, thread: str) -> None:
        self._tasks[thread] = group.create_task(self._write(thread), name=f"writes {thread}")

    async def _write(self, thread: str) -> None:
        failures, delay = 0, 1.0
        try:
            while failures < TRIES:
                self._again.discard(thread)
                try:
                    written = await self._write_once(thread)
                except _StoreRefusal as refused:  # that is no fault of the thread's, and passes
                    LOG.warning("thread %s: told later: %s", thread, refused.__cause__)
                    delay = min(LONGEST_DELAY, delay * 2)
                    await sleep(self._clock, delay)
                    continue
                if not written:
                    failures += 1
                    await sleep(self._clock, 2.0**failures)
                elif thread in self._again:
                    failures = 0
                else:
                    return
        except (NotFound, GatewayClosed):
            return
        finally:
            del self._tasks[thread]

    async def _write_once(self, thread: str) -> bool:
        """Write what is new; False if that failed. Raises AuthError, _StoreRefusal."""
        try:
            delivery = await self._host.outbox.run(outbox.delivery, thread)
            if delivery.key.platform != self._surface.platform:
                self._remember_foreign(thread)
            elif self._host.tells_for(delivery.owner):
                faces = self._host.faces(delivery.team)
                place = Place(key=delivery.key, thread=thread, faces=faces)
                seen = partial(self._again.discard, thread)
                await Writer(self._host, self._surface, place, self._clock, seen).run(delivery)
        except (AuthError, NotFound, GatewayClosed):
            raise
        except (BaseExceptionGroup, GatewayError) as error:
            if any(isinstance(leaf, AuthError) for leaf in _leaves(error)):
                raise
            for leaf in _leaves(error):
                if isinstance(leaf, StoreFull | StoreUnwritable | NodeCutOff):
                    raise _StoreRefusal from leaf
            LOG.exception("thread %s: it could not be written to its platform", thread)
            if is_being_cancelled():
                raise asyncio.CancelledError from error
            return False
        return True

    def _remember_foreign(self, thread: str) -> None:
        self._foreign[thread] = None
        if len(self._foreign) > FOREIGN:
            del self._foreign[next(iter(self._foreign))]

    def cancel(self) -> None:
        """Let go of all threads."""
        for task in self._tasks.values():
            task.cancel()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
