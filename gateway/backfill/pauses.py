"""Pauses of a platform that delivers again what met no connection.

It does so for some minutes, but only if it meets a connection at one of its tries: while the link
flaps, or the process dies again and again, each may fall into a gap. So what may have been missed
is noted as gaps after a long pause, and once a series of short ones is as old as what the platform
gives up. Two marks say so: when it was last connected, and until when everything was heard or
noted; that one moves with such a note, or after minutes without a gap.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic

from gateway.backfill.missed_messages import BackfillHost
from gateway.base.describe import describe
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.history import Backfill, PlatformHistory, Redelivery, Said
from gateway.missed import CURSOR, Gap

LOG = logging.getLogger("gateway")

ALIVE = "alive"
"""The mark of the time until which everything was heard or noted, in seconds since the epoch."""
CONNECTED = f"{CURSOR}connected"
"""The mark of when it was last connected: nothing is delivered again that was had by then."""
OVERLAP = 20.0
"""Seconds before the first mark from which on it is looked for what was missed: what arrived just
then may not have been stored, a connection may have been deaf, and the other clock is another one.
"""
MARK_EVERY = 30.0
LOOKS = 6
"""Looks in that time whether the process stood still: it may do so again at any moment."""
FROZEN = 20.0
"""Seconds by which such a look may be late: after more, it stood still meanwhile."""


class Pauses(Generic[Said]):
    """Notes pauses, and moves the marks, until cancelled.

    No mark moves over a pause before that is noted.
    """

    def __init__(
        self,
        host: BackfillHost,
        backfill: Backfill,
        history: PlatformHistory[Said],
        redelivery: Redelivery,
    ) -> None:
        self._host = host
        self._backfill = backfill
        self._history = history
        self._redelivery = redelivery
        self._clock = history.clock
        self.looks = True
        """This node looks for what was missed, as far as it knows."""
        self._unnoted = False
        """A connection was made whose gap before is not noted yet."""
        self._failed_at: float | None = None
        """Since when something may have been missed of which no gap is noted yet."""
        self._whole_from = self._clock.time()
        """Since when there was no gap."""
        self._looked = self._clock.time()
        """When it was last looked whether the process stood still."""
        self._cut_at = 0.0
        """When the last connection ended, as far as this process knows."""
        self._left_out: list[tuple[float, float]] = []
        """Times that are under way of which the platform leaves events out."""
        self._woken = asyncio.Event()

    def connected(self) -> None:
        """Note that a connection was made."""
        self._whole_from = self._clock.time()
        self._unnoted = True
        self._woken.set()

    def cut(self) -> None:
        """Note that the last connection was lost."""
        self._cut_at = self._clock.time()

    def failed(self, at: float | None = None) -> None:
        """Note that something of this time, or now, was not stored."""
        times = (at, self._failed_at, self._clock.time())
        self._failed_at = min(time for time in times if time is not None)

    async def leave_out(self, since: float, until: float) -> None:
        """Note that the platform drops what is said in this time."""
        alive, seen = await self._stored(ALIVE), await self._stored(CONNECTED)
        await self._set([], min(alive or since, since), min(seen or since, since))
        self._left_out.append((since, until))
        self._woken.set()

    async def note_lost(self, place: ConversationKey, at: float) -> None:
        """Have a place read from a message on.

        Raises GatewayError.
        """
        now = self._clock.time()
        gap = Gap(place=place, since=at - OVERLAP, until=max(now, at), newest=at)
        await self._backfill.note([gap])

    async def run(self, is_open: Callable[[], bool]) -> None:
        """Set the marks now and then while connected.

        If something was not stored meanwhile, or the process stood still, a pause is noted instead.
        """
        self._looked = self._clock.time()
        while True:
            await self._wait()
            self._end_left_out()
            try:
                if self._unnoted:
                    await self._note()
                elif is_open() and not self._left_out:
                    if self._failed_at is not None or await self._may_begin_to_look():
                        self._whole_from = self._clock.time()
                        await self._note()
                    elif not self._unnoted:  # it may have been cut, and connected again
                        await self._mark()
            except GatewayError as error:
                LOG.warning("%s", describe(error))
                self.failed()

    async def _wait(self) -> None:
        """Wait for a connection, or until a mark is due."""
        step = MARK_EVERY / LOOKS
        for _ in range(LOOKS):
            try:
                async with asyncio.timeout(step):
                    await self._woken.wait()
            except TimeoutError:
                pass
            looked, self._looked = self._looked, self._clock.time()
            if self._looked - looked > step + FROZEN:
                self.failed(looked)
                break
            if self._woken.is_set() or any(end <= self._looked for _, end in self._left_out):
                break
        self._woken.clear()

    def _end_left_out(self) -> None:
        now = self._clock.time()
        for since, end in [each for each in self._left_out if each[1] <= now]:
            self._left_out.remove((since, end))
            self.failed(since)

    async def _may_begin_to_look(self) -> bool:
        """True if the node that looked for what was missed is gone."""
        return not self.looks and await self._host.leases.hold(self._lease)

    @property
    def _lease(self) -> str:
        return f"{self._history.account} catch-up"

    async def _note(self) -> None:
        """Note what may have been missed. Raises GatewayError."""
        self._unnoted = False
        failed_at, self._failed_at = self._failed_at, None
        try:
            self.looks = await self._host.leases.hold(self._lease)
            # While another node looks, it has the platform's events, but for those failed here.
            if self.looks or failed_at is not None:
                await self._note_pause(failed_at)
        except GatewayError:
            self.failed(failed_at)
            raise

    async def _note_pause(self, failed_at: float | None) -> None:
        """Note what may have been missed, and move the marks.

        That is nothing at the very first start. `failed_at`: since when this node has missed
        something, while other nodes moved the marks.
        """
        now, gaps = self._clock.time(), list[Gap]()
        alive = await self._stored(ALIVE)
        if alive is None:
            alive = now
        else:
            seen = max(await self._stored(CONNECTED) or 0.0, self._cut_at)
            if max(alive, seen) - OVERLAP > now:  # the clock was ahead when it was noted
                alive = seen = now - self._host.limits.missed.offer
            if failed_at is not None:
                alive, seen = min(alive, failed_at), min(seen, failed_at)
            since, rules = alive - OVERLAP, self._redelivery
            if now - seen >= rules.worth or now - since >= rules.given_up:
                LOG.info("looking for what was missed within %.0f s", now - since)
                # What a series of gaps has missed was back with its last connection, not only now.
                ends = [seen - OVERLAP] if seen - OVERLAP > since else []
                gaps = [gap for end in (*ends, now) for gap in await self._gaps(since, end)]
                alive = now
        await self._set(gaps, alive, now)

    async def _gaps(self, since: float, until: float) -> list[Gap]:
        """Lists of channels, which are read first, and known channels."""
        gaps: list[Gap] = []
        for workspace in self._history.workspaces():
            place = ConversationKey(platform=self._history.account, workspace=workspace)
            gap = Gap(place=place, since=since, until=until, newest=until)
            known = await self._backfill.known_channels(workspace)
            gaps += [gap, *(replace(gap, place=each.place, newest=each.used) for each in known)]
        return gaps

    async def _mark(self) -> None:
        """Note that it is connected, without a gap since a time."""
        now = self._clock.time()
        whole = now - self._whole_from >= self._redelivery.whole
        await self._set([], now if whole else None, now)

    async def _stored(self, name: str) -> float | None:
        text = (await self._host.marks.read(self._history.account, name)).get(name)
        return float(text) if text else None

    async def _set(self, gaps: Sequence[Gap], alive: float | None, connected: float) -> None:
        times = {CONNECTED: connected} if alive is None else {ALIVE: alive, CONNECTED: connected}
        await self._backfill.note(gaps, {name: f"{at:.3f}" for name, at in times.items()})
