"""The work list of missed messages, worked off at Discord's rate.

It is in the store: a gap for each channel, thread and direct channel in which something may have
been said, the newest first. Each is read page by page in the order of writing. A kill costs no more
than the page that was being read; what can't be read now is tried again for as long as it takes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from adapters.discord.connection.rest import UNKNOWN_CHANNEL, ApiError
from adapters.discord.connection.values import Channel, sent_at
from adapters.discord.inbound.archived_threads import (
    ArchivedThreads,
    WokenThreads,
    archive_of,
    has_threads,
)
from adapters.discord.inbound.missed_messages import MissedMessages, place_of
from gateway.adapter import AdapterHost, AuthError
from gateway.errors import GatewayError
from gateway.missed import Gap, OpenGap, ReadPage
from gateway.surface import RateLimited

LOG = logging.getLogger("adapters.discord")

OVERLAP = 60.0
"""Seconds before the gap that are read again: what was under way then may not have been taken."""
READS = 4
"""Places that are read at a time; each counts in a bucket of its own."""
RETRY_SECONDS = (1.0, 3.0, 10.0, 30.0, 60.0)
"""Seconds until a place is tried again, the last of them over and over."""
LOOK_SECONDS = 3.0
"""Seconds between two looks for what other nodes have noted."""
SOONEST_ARCHIVE = 3600.0
"""Seconds of silence after which Discord archives a thread, at the soonest."""
UNTOLD = 60.0
"""Seconds for which an archive is not listed if Discord does not tell of its channel's threads."""
MOST_ARCHIVES = 100_000
"""More archives than a bot has to list."""

TEXT_CHANNELS = frozenset({0, 1, 2, 5, 10, 11, 12, 13})
"""Discord's types of channels and threads that have messages, voice channels included."""

UNREADABLE = "after a pause, channel {channel} can't be read: {why}"


class CatchUp:
    """Notes gaps, and reads them until it is cancelled.

    `hears_all`: no other node notes any.
    """

    def __init__(
        self,
        host: AdapterHost,
        messages: MissedMessages,
        archives: ArchivedThreads,
        clock: Callable[[], float] = time.time,
        hears_all: Callable[[], bool] = lambda: True,
    ) -> None:
        self._clock = clock
        self._hears_all = hears_all
        self._host = host
        self._messages = messages
        self._archives = archives
        self._account = messages.account
        self._woken = WokenThreads(self._account)
        self._inherited: dict[int, str] = {}
        """Archives that an earlier process has not listed, and their channels: once they are
        listed, no gap in the store says which active threads may have left them.
        """
        self._untold_until = 0.0
        self._busy: set[int] = set()
        self._failures: dict[int, int] = {}
        self._not_before: dict[int, float] = {}
        self._begun = asyncio.Event()
        self._changed = asyncio.Event()

    async def load(self) -> None:
        """Know what earlier processes have not listed. Raises GatewayError."""
        found = await self._host.open_gaps(self._account, "", threads=True, limit=MOST_ARCHIVES)
        self._woken.inherit(found)
        self._inherited = {gap.id: gap.place.channel for gap in found}
        self._untold_until = monotonic() + UNTOLD

    def begin(self) -> None:
        """Read the list although no connection tells of its servers anew."""
        self._untold_until = 0.0
        self._begun.set()
        self._changed.set()

    async def note(
        self, channels: Sequence[tuple[Channel, str]], since: float, guild: str = ""
    ) -> None:
        """Add the places in which something may have been missed.

        They are read from `since` on. `channels` are a server's with their last message's id, "" if
        there is none, or direct ones, of which it is not known. Raises GatewayError if it was not
        stored.
        """
        now, since = self._clock(), since - OVERLAP
        # Before anything is waited for: the next event may be of a thread that wakes up.
        earlier = self._woken.begin((channel for channel, _ in channels), since, now)
        gaps: list[Gap] = []
        for channel, last in channels:
            newest = sent_at(last) if last else 0.0 if guild else since
            if channel.type in TEXT_CHANNELS:
                gap = Gap(
                    place=place_of(self._account, channel.id), since=since, until=now, newest=newest
                )
                before = [replace(each, newest=newest) for each in earlier.get(channel.id, ())]
                gaps += [each for each in (*before, gap) if newest >= each.since]
        gaps += [
            Gap(place=archive_of(self._account, channel), since=since, until=now, newest=since)
            for channel in await self._with_archives(channels, now - since, guild)
        ]
        await self._add(gaps)
        self._woken.tell(channel for channel, _ in channels)
        told = {channel.id for channel, _ in channels}
        self._inherited = {id_: of for id_, of in self._inherited.items() if of not in told}
        self._changed.set()

    async def note_awake(self, thread: Channel) -> None:
        """Add a thread that woke up, maybe before the archive was listed.

        Raises GatewayError if it was not stored.
        """
        if gaps := self._woken.gaps(thread, self._clock()):
            await self._add(gaps)
            self._woken.end(thread.parent, [thread.id])

    async def note_lost(self, channel: str, since: float) -> None:
        """Add the channel of a message that failed. Raises GatewayError."""
        now = self._clock()
        await self._add(
            [
                Gap(
                    place=place_of(self._account, channel),
                    since=since - OVERLAP,
                    until=now,
                    newest=now,
                )
            ]
        )

    async def _add(self, gaps: Sequence[Gap]) -> None:
        if gaps:
            await self._host.add_gaps(self._account, gaps, {})
        self._not_before.clear()
        self._begun.set()
        self._changed.set()

    async def _with_archives(
        self, channels: Sequence[tuple[Channel, str]], seconds: float, guild: str
    ) -> list[str]:
        """Channels whose archived threads are listed.

        After a short pause those are few: by then only people have archived any.
        """
        found = [channel.id for channel, _ in channels if has_threads(channel)]
        if seconds >= SOONEST_ARCHIVE or not found:
            return found
        known = await self._host.known_channels(self._account, guild)
        listed = {each.place.channel for each in known}.intersection(found)
        for channel in listed.symmetric_difference(found):
            self._woken.skip(channel)
        return sorted(listed)

    async def run(self) -> None:
        """Work the list off once Discord has told of its servers."""
        await self._begun.wait()
        async with asyncio.TaskGroup() as group:
            while True:
                self._changed.clear()
                gap = await self._next() if len(self._busy) < READS else None
                if gap is None:
                    await self._pause()
                else:
                    self._busy.add(gap.id)
                    group.create_task(self._read(gap), name="reads what was missed")

    async def _next(self) -> OpenGap | None:
        """The gap to read next, None if none is due."""
        now = monotonic()
        self._not_before = {gap: due for gap, due in self._not_before.items() if due > now}
        untold = self._inherited.keys() if now < self._untold_until else set[int]()
        held = self._not_before.keys() | self._busy | untold
        try:
            for threads in (False, True):
                found = await self._host.open_gaps(
                    self._account, "", threads=threads, limit=len(held) + 1
                )
                for gap in found:
                    if gap.id not in held:
                        return gap
        except GatewayError as error:
            LOG.warning("could not look what was missed: %s", error)
        return None

    async def _pause(self) -> None:
        """Wait until there may be something to read."""
        longest = RETRY_SECONDS[-1] if self._hears_all() else LOOK_SECONDS
        due = min((*self._not_before.values(), monotonic() + longest))
        wait = max(due - monotonic(), 0.0)
        try:
            async with asyncio.timeout(wait):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _read(self, gap: OpenGap) -> None:
        """Read a page; after a failure its place is tried again later."""
        try:
            await self._host.finish_page(await self._read_page(gap))
            self._failures.pop(gap.id, None)
        except AuthError:
            raise
        except RateLimited as error:
            self._not_before[gap.id] = monotonic() + error.retry_after
        except GatewayError as error:
            self._hold(gap, error)
        except Exception as error:  # whatever Discord sends keeps nobody else from an answer
            LOG.exception("could not read what was missed")
            self._hold(gap, error)
        finally:
            self._busy.discard(gap.id)
            self._changed.set()

    async def _read_page(self, gap: OpenGap) -> ReadPage:
        try:
            source = self._archives if gap.place.root else self._messages
            page = await source.read(gap)
        except ApiError as error:
            if error.code != UNKNOWN_CHANNEL:
                told = UNREADABLE.format(channel=gap.place.channel, why=error)
                self._host.remark(self._account, told)
            if not error.unreadable:
                raise
            LOG.info("could not read missed messages of %s: %s", gap.place.channel, error)
            page = ReadPage(gap=gap, cursor=None)
        if gap.place.root:
            listed = [place.channel for place in page.further]
            whole = page.cursor is None
            self._woken.end(gap.place.channel, listed, gap.until if whole else 0.0)
        return page

    def _hold(self, gap: OpenGap, error: Exception) -> None:
        failures = self._failures.get(gap.id, 0)
        wait = RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)]
        self._failures[gap.id] = failures + 1
        self._not_before[gap.id] = monotonic() + wait
        LOG.warning(
            "could not read missed messages of %s, retry in %g s: %s",
            gap.place.channel,
            wait,
            error,
        )
