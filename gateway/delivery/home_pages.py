"""People's own pages, kept up to date on one platform.

A page is shown to whoever opens it, and again when a request opens or closes that they may answer,
at most once in EVERY seconds. Nothing waits for it, and nothing else fails with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from gateway.adapter import AuthError
from gateway.base.clock import Clock, sleep
from gateway.base.describe import describe
from gateway.conversation import Author
from gateway.delivery.homes import Homes
from gateway.delivery.sender import comes_first
from gateway.errors import GatewayError, NotFound
from gateway.homes import HomeSurface, Visit
from gateway.store.records import Request
from gateway.store.units import adapters, outbox
from gateway.store.units.homes import VISITED
from gateway.store.units.rows import FREE
from gateway.surface import RateLimited, TextSurface, offers

LOG = logging.getLogger("gateway.delivery")

EVERY = 30.0
"""Seconds between two showings of one person's page."""
LOOK_EVERY = 1.0
"""Seconds between two looks at which requests are open, while something happens."""


@asynccontextmanager
async def kept_homes(
    homes: Homes | None, surface: TextSurface, clock: Clock
) -> AsyncGenerator[None]:
    """Keep a surface's pages, if any, up to date. Raises AuthError."""
    if homes is None or not offers(surface, HomeSurface):
        yield
        return
    pages = HomePages(homes, surface.platform, surface, clock)
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(pages.keep(), name=f"pages of {surface.platform}")
        try:
            yield
        finally:
            keeping.cancel()


class HomePages:
    """The pages of one surface."""

    def __init__(self, homes: Homes, platform: str, surface: HomeSurface, clock: Clock) -> None:
        self._homes = homes
        self._run = homes.parts.store.run
        self._platform = platform
        self._surface = surface
        self._clock = clock
        self._requests = dict[str, Request]()
        """Those that were open at the last look."""
        self._due = dict[str, tuple[Visit, float]]()
        """Pages to show, by their persons, and since when each may be shown."""
        self._changed = asyncio.Event()

    async def keep(self) -> None:
        """Show pages, until cancelled. Raises AuthError."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._take_visits(), name=f"visits on {self._platform}")
            group.create_task(self._follow(), name=f"requests on {self._platform}")
            group.create_task(self._show(), name=f"shows pages on {self._platform}")

    async def _take_visits(self) -> None:
        while True:
            with _tolerated("a visit"):
                visit = await self._surface.next_visit()
                name = f"{VISITED}{visit.person}"
                marks = await self._run(adapters.marks, self._platform, name)
                known, at = _visit(name, marks[name]) if name in marks else (visit, 0.0)
                if known != visit or name not in marks:
                    await self._run(adapters.mark, self._platform, name, _mark(visit, at))
                self._want(visit, at)

    async def _follow(self) -> None:
        with self._homes.parts.bus.activity() as activity:
            first = True  # an earlier process may not have shown what has opened
            while True:
                with _tolerated("a look at requests"):
                    await self._look(everywhere=first)
                    first = False
                if await activity.take() is None:
                    return
                await sleep(self._clock, LOOK_EVERY)

    async def _look(self, *, everywhere: bool) -> None:
        """Want the pages of those whose requests opened or closed.

        `everywhere`: in the threads of all nodes.
        """
        before = self._requests
        self._requests = now = await self._homes.open_requests(self._platform, before)
        if not (ids := now.keys() ^ before.keys()):
            return
        marks = await self._run(adapters.marks, self._platform)
        visits = [_visit(name, text) for name, text in marks.items() if name.startswith(VISITED)]
        for id in ids if visits else ():
            request = now.get(id) or before[id]
            if everywhere or await self._mine(request):
                for visit, at in visits:
                    if self._homes.is_theirs(Author(id=visit.person), request):
                        self._want(visit, at)

    async def _mine(self, request: Request) -> bool:
        """True if this node tells of the request's thread, or none does."""
        try:
            thread = await self._run(outbox.delivery, request.thread)
        except NotFound:
            return True
        return thread.owner == FREE or self._homes.parts.nodes.tells_for(thread.owner)

    def _want(self, visit: Visit, shown: float) -> None:
        latest = self._clock.time() + EVERY  # the clock may have been set back
        self._due[visit.person] = visit, min(shown + EVERY, latest)
        self._changed.set()

    async def _show(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._due:
                visit, due = min(self._due.values(), key=lambda each: each[1])
                if (wait := due - self._clock.time()) > 0:
                    await comes_first(self._changed.wait(), sleep(self._clock, wait))
                    self._changed.clear()
                    continue
                del self._due[visit.person]
                with _tolerated("a page"):
                    await self._show_once(visit)

    async def _show_once(self, visit: Visit) -> None:
        name = f"{VISITED}{visit.person}"
        marks = await self._run(adapters.marks, self._platform, name)
        shown = _visit(name, marks[name])[1] if name in marks else 0.0
        if 0 <= self._clock.time() - shown < EVERY:  # by another node
            self._want(visit, shown)
            return
        author = await self._surface.visitor(visit)
        if author.id != visit.person:
            return
        # It may not have been looked at what is open now.
        requests = await self._homes.open_requests(self._platform, self._requests)
        home = await self._homes.home(author, self._platform, visit, requests)
        at = self._clock.time()
        await self._run(adapters.mark, self._platform, name, _mark(visit, at))
        try:
            await self._surface.show_home(visit, home)
        except RateLimited as error:
            self._due.setdefault(visit.person, (visit, at + max(EVERY, error.retry_after)))
            raise


def _mark(visit: Visit, shown: float) -> str:
    return f"{shown:.3f} {visit.workspace}"


def _visit(name: str, mark: str) -> tuple[Visit, float]:
    """The inverse of `_mark`: a visit and its last showing."""
    shown, _, workspace = mark.partition(" ")
    return Visit(person=name.removeprefix(VISITED), workspace=workspace), float(shown)


@contextmanager
def _tolerated(what: str) -> Generator[None]:
    """Log what fails, and go on. Raises AuthError."""
    try:
        yield
    except AuthError:
        raise
    except GatewayError as error:
        LOG.info("%s of a person's own was left out: %s", what, describe(error))
    except Exception:
        LOG.exception("%s of a person's own has failed", what)
