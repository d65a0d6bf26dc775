"""The work list of missed messages, read until nothing is left.

It is in the store: a gap for each place, the newest first. One node at a time reads it, page by
page; a page that was not finished when the process ended is read again. What can't be read now is
tried again for as long as it takes, and holds up no other place.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Generic

from gateway.adapter import AuthError
from gateway.backfill.missed_messages import BackfillHost, MissedMessages
from gateway.backfill.offers import Offers, parse_cursor
from gateway.backfill.pauses import Pauses
from gateway.base.describe import describe
from gateway.conversation import ConversationKey, RecentMessage
from gateway.errors import GatewayError
from gateway.history import PlatformHistory, Redelivery, Said
from gateway.missed import Gap, KnownPlace, MissedRules, OpenGap, ReadPage
from gateway.store.units import gaps as gap_units
from gateway.store.units import threads as thread_units
from gateway.surface import RateLimited

LOG = logging.getLogger("gateway")

RETRY_SECONDS = (1.0, 3.0, 10.0, 30.0, 60.0)
"""Seconds until a place is tried again, the last of them over and over."""
LOOK_SECONDS = 3.0
"""Seconds between two looks for what other nodes have noted, or for the lease."""
RELEASE_SECONDS = 5.0

UNREADABLE = "after a pause, {place} can't be read: {why}"


class WorkList(Generic[Said]):
    """The Backfill of one platform."""

    def __init__(self, host: BackfillHost, history: PlatformHistory[Said]) -> None:
        self._host = host
        self._history = history
        self.account = history.account
        self._clock = history.clock
        self._missed = MissedMessages(host, history)
        self._offers = Offers(host, history, self._missed)
        self.answer = self._offers.answer
        self._busy: dict[int, tuple[str, bool]] = {}
        """Gaps that are read: of which workspace, and whether their places have roots."""
        self._failures: Counter[int] = Counter()
        self._not_before: dict[int, float] = {}
        self._changed = asyncio.Event()

    @property
    def rules(self) -> MissedRules:
        """The ages up to which missed messages are answered or offered."""
        return self._host.limits.missed

    @property
    def lease(self) -> str:
        """The lease of the node that reads."""
        return f"{self.account} catch-up"

    def pauses(self, redelivery: Redelivery) -> Pauses[Said]:
        """The pauses of a platform that delivers again."""
        return Pauses(self._host, self, self._history, redelivery)

    async def note(self, gaps: Sequence[Gap], marks: Mapping[str, str] | None = None) -> None:
        """Add gaps, and set marks in the same step."""
        if gaps:
            self._missed.back = max(gap.until for gap in gaps)
        await self._host.store.run(gap_units.add_gaps, self.account, gaps, marks or {})
        if gaps:
            self._not_before.clear()
            self._changed.set()

    async def unread(self, *, limit: int) -> list[OpenGap]:
        """Places with a root that are to be read."""
        return await self._host.store.run(
            gap_units.open_gaps, self.account, "", threads=True, limit=limit
        )

    async def known_channels(self, workspace: str) -> list[KnownPlace]:
        """The channels of a workspace in which there are threads."""
        return await self._host.store.run(gap_units.known_channels, self.account, workspace)

    async def known_threads(
        self, place: ConversationKey, *, before: str, limit: int
    ) -> list[KnownPlace]:
        """Threads of a channel with roots below `before`, the greatest first."""
        return await self._host.store.run(
            gap_units.known_threads, place, before=before, limit=limit
        )

    async def recent_messages(self, workspace: str, since: float) -> list[RecentMessage]:
        """The newest messages of a workspace's threads that were used since then."""
        return await self._host.store.run(
            thread_units.recent_messages, self.account, workspace, since
        )

    async def run(self) -> None:
        """Read until cancelled, one node at a time. Raises AuthError."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    self._changed.clear()
                    await self._begin(group)
                    await self._pause()
        finally:
            with suppress(GatewayError, TimeoutError):
                async with asyncio.timeout(RELEASE_SECONDS):
                    await self._host.leases.release(self.lease)

    async def _begin(self, group: asyncio.TaskGroup) -> None:
        """Begin to read as many places as may be read."""
        try:
            if not await self._host.leases.hold(self.lease):
                return
            for workspace in self._history.workspaces():
                for threads in (False, True):
                    what = workspace, threads
                    while sum(each == what for each in self._busy.values()) < self._history.at_once:
                        gap = await self._next(workspace, threads=threads)
                        if gap is None:
                            break
                        self._busy[gap.id] = what
                        group.create_task(self._read(gap), name="reads what was missed")
        except GatewayError as error:
            LOG.warning("could not look what was missed: %s", describe(error))

    async def _next(self, workspace: str, *, threads: bool) -> OpenGap | None:
        """The newest gap of which a page is due."""
        now = self._clock.time()
        self._not_before = {gap: due for gap, due in self._not_before.items() if due > now}
        held = self._not_before.keys() | self._busy
        found = await self._host.store.run(
            gap_units.open_gaps, self.account, workspace, threads=threads, limit=len(held) + 1
        )
        return next((gap for gap in found if gap.id not in held), None)

    async def _pause(self) -> None:
        """Wait until there may be something to read."""
        now = self._clock.time()
        look = LOOK_SECONDS if self._host.has_others else RETRY_SECONDS[-1]
        due = min((*self._not_before.values(), now + look))
        timer = self._clock.call_later(max(due - now, 0.0), self._changed.set)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()

    async def _read(self, gap: OpenGap) -> None:
        """Read a page; after a failure its place is tried again later."""
        try:
            await self._finish(await self._page(gap))
        except AuthError:
            raise
        except RateLimited as error:
            self._not_before[gap.id] = self._clock.time() + error.retry_after
        except GatewayError as error:
            await self._fail(gap, error)
        except Exception as error:  # whatever is sent keeps nobody else from an answer
            LOG.exception("could not read what was missed")
            await self._fail(gap, error)
        finally:
            del self._busy[gap.id]
            self._changed.set()

    async def _page(self, gap: OpenGap) -> ReadPage:
        """Read a page, and answer or offer what it shows."""
        at, pending = parse_cursor(gap)
        async with self._history.reading(gap.place):
            try:
                page = await self._history.read_page(at)
            except GatewayError as error:
                if not self._history.is_final(error):
                    raise
                place = f"channel {gap.place.channel}"
                self._host.health.remark(self.account, UNREADABLE.format(place=place, why=error))
                LOG.warning("what was missed in %s can't be read: %s", gap.place, error)
                return ReadPage(gap=gap, cursor=None)
            missed, refused = await self._missed.sort(page, gap, pending)
            verdicts = Counter(each.verdict for each in missed.values())
            answered = [each for each in missed.values() if each.verdict == "answer"]
            found = await self._missed.hand_in(answered)
        offered = await self._offers.on_page(gap, page, missed, pending)
        posted, cursor = await self._offers.post(gap, page, pending)
        found += posted
        found["offer"] += offered
        found["refused"] += refused
        found["too_old"] += verdicts["too_old"]
        newest = gap.newest if page.newest is None else page.newest
        return ReadPage(gap=gap, cursor=cursor, newest=newest, found=+found, further=page.further)

    async def _finish(self, page: ReadPage) -> None:
        await self._host.store.run(gap_units.finish_page, page)
        self._host.vitals.missed.update(page.found)
        self._failures.pop(page.gap.id, None)

    async def _fail(self, gap: OpenGap, error: Exception) -> None:
        wait = RETRY_SECONDS[min(self._failures[gap.id], len(RETRY_SECONDS) - 1)]
        self._failures[gap.id] += 1
        self._not_before[gap.id] = self._clock.time() + wait
        LOG.warning(
            "could not read missed messages of %s, retry in %g s: %s",
            gap.place.channel,
            wait,
            describe(error),
        )
