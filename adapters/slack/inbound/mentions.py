"""Mentions of the bot: Slack delivers each twice, as a message and as an app_mention."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from adapters.slack.connection.payload import Payload, table_at, team_of, text_at, ts_at
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.keyed_locks import Turns

REMEMBERED = 1_000
"""Mentions that are remembered; of older ones the store knows whether they were taken."""

_SAID = frozenset({"", "file_share", "me_message", "thread_broadcast"})


def mention_in(payload: Payload, me: Workspace) -> str:
    """A name for the mention of the bot that a payload delivers, "" for one that delivers none."""
    event = table_at(payload, "event")
    if text_at(event, "type") not in ("message", "app_mention"):
        return ""
    if event.get("hidden") is True or text_at(event, "subtype") not in _SAID:
        return ""
    channel, ts = text_at(event, "channel"), ts_at(event, "ts")
    if not (me.user and channel and ts and f"<@{me.user}" in text_at(event, "text")):
        return ""
    return f"{team_of(payload) or me.id}/{channel}/{ts}"


class Mentions:
    """The last mentions that were taken, so that none is parsed again."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._taken: OrderedDict[str, None] = OrderedDict()

    @asynccontextmanager
    async def turn(self, mention: str) -> AsyncGenerator[bool]:
        """Wait for the other delivery of a mention; False if that was taken.

        A mention counts as taken once the context ends without an error. Whatever has no name is
        always to be taken, and waits for nothing.
        """
        if not mention:
            yield True
            return
        async with self._turns.of(mention):
            if mention in self._taken:
                yield False
                return
            yield True
            self._taken[mention] = None
            while len(self._taken) > REMEMBERED:
                self._taken.popitem(last=False)
