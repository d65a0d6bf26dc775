"""Gaps of channels and threads in which something may have been said."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from adapters.discord.connection.values import Channel, sent_at
from adapters.discord.inbound.archived_threads import (
    ArchivedThreads,
    archive_of,
    place_of,
)
from gateway.history import Backfill
from gateway.missed import Gap

OVERLAP = 60.0
"""Seconds before the gap that are read again: what was under way then may not have been taken."""
SOONEST_ARCHIVE = 3600.0
"""Seconds of silence after which Discord archives a thread, at the soonest."""
MOST_ARCHIVES = 100_000
"""More archives than a bot has to list."""

TEXT_CHANNELS = frozenset({0, 1, 2, 5, 10, 11, 12, 13})
"""Discord's types of channels and threads that have messages, voice channels included."""


class CatchUp:
    """Notes gaps, and has them read."""

    def __init__(
        self,
        backfill: Backfill,
        archives: ArchivedThreads,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._backfill = backfill
        self._archives = archives
        self._begun = asyncio.Event()

    async def load(self) -> None:
        """Know what earlier processes have not listed. Raises GatewayError."""
        self._archives.inherit(await self._backfill.unread(limit=MOST_ARCHIVES))

    def begin(self) -> None:
        """Read the list although no connection tells of its servers anew."""
        self._archives.wait_for_none()
        self._begun.set()

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
        earlier = self._archives.woken.begin((channel for channel, _ in channels), since, now)
        gaps: list[Gap] = []
        for channel, last in channels:
            newest = sent_at(last) if last else 0.0 if guild else since
            if channel.type in TEXT_CHANNELS:
                place = place_of(self._archives.account, channel.id)
                gap = Gap(place=place, since=since, until=now, newest=newest)
                before = [replace(each, newest=newest) for each in earlier.get(channel.id, ())]
                gaps += [each for each in (*before, gap) if newest >= each.since]
        for channel in await self._with_archives(channels, now - since, guild):
            place = archive_of(self._archives.account, channel)
            gaps.append(Gap(place=place, since=since, until=now, newest=since))
        await self._add(gaps)
        self._archives.tell([channel for channel, _ in channels])

    async def note_awake(self, thread: Channel) -> None:
        """Add a thread that woke up, maybe before the archive was listed.

        Raises GatewayError if it was not stored.
        """
        if gaps := self._archives.woken.gaps(thread, self._clock()):
            await self._add(gaps)
            self._archives.woken.end(thread.parent, [thread.id])

    async def note_lost(self, channel: str, since: float) -> None:
        """Add the channel of a message that failed. Raises GatewayError."""
        now, place = self._clock(), place_of(self._archives.account, channel)
        await self._add([Gap(place=place, since=since - OVERLAP, until=now, newest=now)])

    async def _add(self, gaps: Sequence[Gap]) -> None:
        await self._backfill.note(gaps)
        self._begun.set()

    async def _with_archives(
        self, channels: Sequence[tuple[Channel, str]], seconds: float, guild: str
    ) -> list[str]:
        """Channels whose archived threads are listed.

        After a short pause those are few: by then only people have archived any.
        """
        found = [channel.id for channel, _ in channels if channel.has_threads]
        if seconds >= SOONEST_ARCHIVE or not found:
            return found
        known = await self._backfill.known_channels(guild)
        listed = {each.place.channel for each in known}.intersection(found)
        for channel in listed.symmetric_difference(found):
            self._archives.woken.skip(channel)
        return sorted(listed)

    async def run(self) -> None:
        """Work the list off once Discord has told of its servers."""
        await self._begun.wait()
        await self._backfill.run()
