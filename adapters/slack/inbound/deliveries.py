"""Payloads as Slack delivers them: parsed, each mention handled once.

Slack delivers a mention of the bot twice, as a message and as an app_mention.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from adapters.slack.config import Config
from adapters.slack.connection.payload import Payload, table_at, team_of, text_at, ts_at
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.parse_events import RATE_LIMITED, parse_event
from adapters.slack.inbound.parse_interactions import parse_command, parse_interaction
from adapters.slack.inbound.parsed import Inbound

REMEMBERED = 1_000
"""Mentions that are remembered; of older ones the store knows whether they were taken."""

_WRITTEN = frozenset({"", "file_share", "me_message", "thread_broadcast"})


def parse_payload(body: Payload, config: Config, me: Workspace) -> Inbound:
    """Parse a payload for the bot `me`, whatever its kind."""
    if text_at(body, "type") in ("event_callback", RATE_LIMITED):
        return parse_event(body, me, reactions=config.reactions)
    if text_at(body, "command"):
        return parse_command(body, me, config.command)
    return parse_interaction(body, me)


class KeyedLocks:
    """Locks by name, each kept only while it is in use."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncGenerator[None]:
        """Hold the lock of this name."""
        self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            async with self._locks.setdefault(name, asyncio.Lock()):
                yield
        finally:
            self._wanted[name] -= 1
            if not self._wanted[name]:
                del self._wanted[name], self._locks[name]


def mention_in(payload: Payload, me: Workspace) -> str:
    """The id of the bot's mention in a payload, or ""."""
    event = table_at(payload, "event")
    if text_at(event, "type") not in ("message", "app_mention"):
        return ""
    if event.get("hidden") is True or text_at(event, "subtype") not in _WRITTEN:
        return ""
    channel, ts = text_at(event, "channel"), ts_at(event, "ts")
    if not (me.user and channel and ts and f"<@{me.user}" in text_at(event, "text")):
        return ""
    return f"{team_of(payload) or me.id}/{channel}/{ts}"


class Mentions:
    """The last mentions that were taken, so that none is parsed again."""

    def __init__(self) -> None:
        self._locks = KeyedLocks()
        self._taken: OrderedDict[str, None] = OrderedDict()

    @asynccontextmanager
    async def claim(self, mention: str) -> AsyncGenerator[bool]:
        """Wait for the other delivery of a mention; False if it succeeded.

        A mention counts as taken once the context ends without an error. Whatever has no name is
        always to be taken, and waits for nothing.
        """
        if not mention:
            yield True
            return
        async with self._locks.hold(mention):
            if mention in self._taken:
                yield False
                return
            yield True
            self._taken[mention] = None
            while len(self._taken) > REMEMBERED:
                self._taken.popitem(last=False)
