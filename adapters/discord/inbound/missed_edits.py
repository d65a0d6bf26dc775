"""Edits and deletions missed while disconnected, found by comparison."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adapters.discord.connection.cache import Cache
from adapters.discord.connection.rest import UNKNOWN_MESSAGE, ApiError, Rest
from adapters.discord.inbound.message_handler import MessageHandler
from adapters.discord.inbound.parse_messages import parse_message
from gateway.adapter import AdapterHost
from gateway.conversation import RecentMessage
from gateway.history import Backfill

LOG = logging.getLogger("adapters.discord")

KNOWN_FOR = 86_400.0
"""Seconds before the gap from which on threads are looked at."""
READS = 40
"""Calls in all for one server, or for all direct messages."""
PAGE = 100

Payload = Mapping[str, Any]


class MissedEdits:
    """Compares the messages accepted lately with those on Discord."""

    def __init__(
        self,
        rest: Rest,
        host: AdapterHost,
        cache: Cache,
        backfill: Backfill,
        handler: MessageHandler,
    ) -> None:
        self._rest = rest
        self._cache = cache
        self._backfill = backfill
        self._host = host
        self._handler = handler

    async def read(self, guild: str, since: float) -> None:
        """Hand in edits and deletions of a server, "" for direct messages.

        It finds those that a bounded number of calls can reach. Raises GatewayError if one can't be
        accepted.
        """
        places: defaultdict[str, list[RecentMessage]] = defaultdict(list)
        for recent in await self._recent_messages(guild, since):
            if channel := _channel_in(recent.link):
                places[channel].append(recent)
        left = READS
        # What was said last is at the end, and comes first.
        for channel, known in reversed(places.items()):
            left = await self._compare(channel, guild, known, left)
        if left <= 0:
            LOG.warning("too many messages to look for all edits and deletions")

    async def _recent_messages(self, guild: str, since: float) -> list[RecentMessage]:
        """Recent messages, except those known to be deleted."""
        found = await self._backfill.recent_messages(guild, since - KNOWN_FOR)
        gone = {recent.key.dedupe("delete", recent.message_id): recent for recent in found}
        known = await self._host.known_keys(gone)
        return [recent for key, recent in gone.items() if key not in known]

    async def _compare(
        self, channel: str, guild: str, known: Sequence[RecentMessage], left: int
    ) -> int:
        """Look at a channel with that many calls; how many are left."""
        if left <= 0:
            return left
        try:
            page = await self._known_messages(channel, known)
            left -= 1
            for message in page.values():
                await self._handle_change(message, guild)
            for recent in reversed(known):
                if recent.message_id not in page and left > 0:
                    left -= 1
                    await self._check_message(channel, recent, guild)
        except ApiError as error:
            LOG.info("could not look for edits in channel %s: %s", channel, error)
        return left

    async def _known_messages(
        self, channel: str, known: Iterable[RecentMessage]
    ) -> dict[str, Payload]:
        """Known messages among the newest up to the last of them."""
        ids = {recent.message_id for recent in known}
        before = str(max(map(int, ids)) + 1)
        page: list[Payload] = await self._rest.call(
            "GET",
            f"/channels/{channel}/messages",
            query={"before": before, "limit": str(PAGE)},
        )
        return {str(each["id"]): each for each in page if str(each["id"]) in ids}

    async def _check_message(self, channel: str, recent: RecentMessage, guild: str) -> None:
        """Check a message missing from its page: older, deleted, or hidden."""
        try:
            path = f"/channels/{channel}/messages/{recent.message_id}"
            await self._handle_change(await self._rest.call("GET", path), guild)
        except ApiError as error:
            if error.code != UNKNOWN_MESSAGE:
                raise
            await self._handler.submit_deletion(recent.key, recent.message_id)

    async def _handle_change(self, message: Payload, guild: str) -> None:
        if message.get("edited_timestamp") is None:
            return
        parsed = parse_message({**message, "guild_id": guild}, self._cache.me_in(guild))
        if parsed is not None:
            await self._handler.handle_edit(parsed)


def _channel_in(link: str) -> str:
    """The channel of a message's link, "" for a command's."""
    return link.rpartition("/")[0].rpartition("/")[2]
