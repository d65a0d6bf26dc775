"""Archived threads in which something was said.

Discord's connection tells of active ones alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any, cast

from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.connection.values import PLATFORM, Channel, sent_at
from adapters.discord.inbound.missed_messages import place_of
from gateway.conversation import ConversationKey
from gateway.missed import Gap, OpenGap, ReadPage

PARENTS = frozenset({0, 5, 15, 16})
"""Discord's types of channels that have threads or posts."""
PAGE = 100
ARCHIVE = "archive"
"""Root in the name of the place that is a channel's archive."""
PRIVATE = "private"
"""First word of the cursor in the second list, that of private threads."""

LATE = 60.0
"""Seconds for which Discord may tell of a thread's waking after a list without it."""


def has_threads(channel: Channel) -> bool:
    """True for a channel in which threads can be."""
    return channel.type in PARENTS


def archive_of(channel: str) -> ConversationKey:
    """The work list's name for the archive of a channel."""
    return ConversationKey(platform=PLATFORM, channel=channel, root=ARCHIVE)


@dataclass(slots=True)
class _Listing:
    """The times of a channel's archive, and the threads told of."""

    since: float
    until: float
    told: set[str] = field(default_factory=set[str])
    ends: float = math.inf


class WokenThreads:
    """Threads that leave the archive before it is listed.

    A message wakes its thread, also one of the bot's own: no list tells of that thread, as it was
    in the archive when the connection told of active ones, and is active once the archive is
    listed. An event tells of its waking.
    """

    def __init__(self) -> None:
        self._listings: dict[str, _Listing] = {}

    def begin(self, channels: Iterable[Channel], since: float, until: float) -> None:
        """Know the channels and active threads that were told."""
        told = list(channels)
        self._listings |= {each.id: _Listing(since, until) for each in told if has_threads(each)}
        self._tell((each.parent, each.id) for each in told)

    def end(self, channel: str, listed: Iterable[str] = (), *, whole: bool = True) -> None:
        """Know threads of a channel's archive; `whole`: nothing more is listed."""
        self._tell((channel, each) for each in listed)
        if whole and (listing := self._listings.get(channel)) is not None:
            listing.ends = monotonic() + LATE

    def gap(self, thread: Channel, now: float) -> Gap | None:
        """The gap of a thread that woke up, unless otherwise known."""
        listing = self._listings.get(thread.parent)
        if listing is None or thread.id in listing.told or listing.ends < monotonic():
            return None
        return Gap(place=place_of(thread.id), since=listing.since, until=listing.until, newest=now)

    def _tell(self, threads: Iterable[tuple[str, str]]) -> None:
        for channel, thread in threads:
            if (listing := self._listings.get(channel)) is not None:
                listing.told.add(thread)


class ArchivedThreads:
    """Reads the lists of archived threads.

    The public ones are listed from the one on that was archived last. Of the private ones, the bot
    sees those that it is in, from the newest thread on.
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def read(self, gap: OpenGap) -> ReadPage:
        """Read a page of the archive. Raises the errors of calls.

        Threads in which something was said are further gaps.
        """
        kind, _, before = gap.cursor.partition(" ")
        private = kind == PRIVATE
        try:
            page = await self._page(gap.place.channel, before, private=private)
        except ApiError as error:
            if private or not error.unreadable:
                raise
            page = {"threads": [], "has_more": False}
        threads = cast("list[Mapping[str, Any]]", page["threads"])
        further = {
            place_of(str(each["id"])): at
            for each in threads
            if (at := sent_at(str(each.get("last_message_id") or 0))) >= gap.since
        }
        return ReadPage(
            gap=gap.id,
            cursor=_cursor(threads, gap.since, more=bool(page["has_more"]), private=private),
            newest=gap.newest,
            further=further,
        )

    async def _page(self, channel: str, before: str, *, private: bool) -> Mapping[str, Any]:
        which = "users/@me/threads/archived/private" if private else "threads/archived/public"
        query = {"limit": str(PAGE)} | ({"before": before} if before else {})
        return await self._rest.call("GET", f"/channels/{channel}/{which}", query=query)


def _cursor(
    threads: list[Mapping[str, Any]], since: float, *, more: bool, private: bool
) -> str | None:
    """Where the next page begins; None after the last one."""
    if private:
        return f"{PRIVATE} {threads[-1]['id']}" if more and threads else None
    if more and threads:
        archived_at = str(threads[-1]["thread_metadata"]["archive_timestamp"])
        if datetime.fromisoformat(archived_at).timestamp() >= since:
            return f"public {archived_at}"
    return f"{PRIVATE} "
