"""Archived threads in which something was said.

Discord's connection tells of active ones alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any, cast

from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.connection.values import Channel, sent_at
from adapters.discord.inbound.parse_messages import ParsedMessage
from gateway.conversation import ConversationKey
from gateway.history import Page
from gateway.missed import Gap, OpenGap
from gateway.surface import RateLimited

PAGE = 100
ARCHIVE = "archive"
"""Root in the name of the place that is a channel's archive."""
PRIVATE = "private"
"""First word of the cursor in the second list, that of private threads."""

LATE = 60.0
"""Seconds for which Discord may tell of a thread's waking after a list without it."""
UNTOLD = 60.0
"""Seconds for which an archive is not listed if Discord does not tell of its channel's threads."""


def place_of(account: str, channel: str) -> ConversationKey:
    """The work list's name for a channel or thread."""
    return ConversationKey(platform=account, channel=channel)


def archive_of(account: str, channel: str) -> ConversationKey:
    """The work list's name for the archive of a channel."""
    return ConversationKey(platform=account, channel=channel, root=ARCHIVE)


@dataclass(slots=True)
class _Listing:
    """The pauses for which an archive is listed, and threads told of."""

    pauses: list[tuple[float, float]]
    told: set[str] = field(default_factory=set[str])
    ends: float = math.inf


class WokenThreads:
    """Threads that leave the archive before it is listed.

    A message wakes its thread, also one of the bot's own: no list tells of that thread, as it was
    in the archive when the connection told of active ones, and is active once the archive is
    listed. An event tells of its waking, or the next connection, which may be another process's.
    """

    def __init__(self, account: str) -> None:
        self._account = account
        self._listings: dict[str, _Listing] = {}

    def inherit(self, archives: Iterable[OpenGap]) -> None:
        """Know the archives that an earlier process has not listed."""
        for gap in archives:
            self._listings[gap.place.channel] = _Listing([(gap.since, gap.returned)])

    def begin(
        self, channels: Iterable[Channel], since: float, until: float
    ) -> dict[str, list[Gap]]:
        """Know the channels that were told.

        Gaps of the active threads, by their ids, in earlier pauses: each may have left the archive
        before that was listed, while nobody was told.
        """
        told = list(channels)
        earlier = {
            each.id: gaps
            for each in told
            if (listing := self._listings.get(each.parent)) is not None
            and (gaps := self._gaps(listing, each, until))
        }
        for each in (each for each in told if each.has_threads):
            old = self._listings.get(each.id)
            pauses = old.pauses if old is not None and old.ends >= monotonic() else []
            self._listings[each.id] = _Listing([*pauses, (since, until)])
        return earlier

    def tell(self, threads: Iterable[Channel]) -> None:
        """Know active threads whose gaps are stored."""
        self._tell((each.parent, each.id) for each in threads)

    def skip(self, channel: str) -> None:
        """Know that the archive is not listed for the last pause."""
        if (listing := self._listings.get(channel)) is not None:
            if len(listing.pauses) > 1:
                listing.pauses.pop()
            else:
                listing.ends = monotonic() + LATE

    def end(self, channel: str, listed: Iterable[str], until: float = 0.0) -> None:
        """Know threads of an archive: all of them of pauses `until` then."""
        self._tell((channel, each) for each in listed)
        listing = self._listings.get(channel)
        if listing is not None and all(end <= until for _, end in listing.pauses):
            listing.ends = monotonic() + LATE

    def gaps(self, thread: Channel, now: float) -> list[Gap]:
        """The gaps of a thread that woke up, unless otherwise known."""
        listing = self._listings.get(thread.parent)
        if listing is None or listing.ends < monotonic():
            return []
        return self._gaps(listing, thread, now)

    def _tell(self, threads: Iterable[tuple[str, str]]) -> None:
        for channel, thread in threads:
            if (listing := self._listings.get(channel)) is not None:
                listing.told.add(thread)

    def _gaps(self, listing: _Listing, thread: Channel, newest: float) -> list[Gap]:
        """Gaps of a thread in pauses after its beginning, unless told of."""
        if thread.id in listing.told:
            return []
        place = place_of(self._account, thread.id)
        return [
            Gap(place=place, since=since, until=until, newest=newest)
            for since, until in listing.pauses
            if sent_at(thread.id) <= until
        ]


class ArchivedThreads:
    """Reads the lists of archived threads.

    The public ones are listed from the one on that was archived last. Of the private ones, the bot
    sees those that it is in, from the newest thread on.
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self.account = rest.account
        self.woken = WokenThreads(rest.account)
        self._inherited: dict[int, str] = {}
        """Archives that an earlier process has not listed, and their channels: once they are
        listed, no gap in the store says which active threads may have left them.
        """
        self._untold_until = 0.0

    def inherit(self, found: Sequence[OpenGap]) -> None:
        """Know the archives that an earlier process has not listed."""
        self.woken.inherit(found)
        self._inherited = {gap.id: gap.place.channel for gap in found}
        self._untold_until = monotonic() + UNTOLD

    def tell(self, channels: Sequence[Channel]) -> None:
        """Know active threads whose gaps are stored."""
        self.woken.tell(channels)
        told = {channel.id for channel in channels}
        self._inherited = {id_: of for id_, of in self._inherited.items() if of not in told}

    def wait_for_none(self) -> None:
        """Know that no connection tells of its servers anew."""
        self._untold_until = 0.0

    async def read(self, gap: OpenGap) -> Page[ParsedMessage]:
        """Read a page of the archive. Raises the errors of calls.

        Threads in which something was said are further gaps.
        """
        if gap.id in self._inherited and (wait := self._untold_until - monotonic()) > 0:
            raise RateLimited(wait)
        try:
            page = await self._list(gap)
        except ApiError as error:
            if error.unreadable:
                self.woken.end(gap.place.channel, (), gap.until)
            raise
        whole = gap.until if page.cursor is None else 0.0
        self.woken.end(gap.place.channel, [place.channel for place in page.further], whole)
        return page

    async def _list(self, gap: OpenGap) -> Page[ParsedMessage]:
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
            place_of(self.account, str(each["id"])): at
            for each in threads
            if (at := sent_at(str(each.get("last_message_id") or 0))) >= gap.since
        }
        cursor = _cursor(threads, gap.since, more=bool(page["has_more"]), private=private)
        return Page(cursor=cursor, further=further)

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
