"""Names of Slack's channels, asked for once a day each.

conversations.info needs channels:read, groups:read or mpim:read, which the bot has to find what it
missed (https://docs.slack.dev/reference/methods/conversations.info).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from adapters.known_places import KnownPlaces
from adapters.slack.connection.payload import Payload, table_at, text_at
from adapters.slack.connection.web_api import Calls, is_final
from gateway.adapter import AdapterHost
from gateway.conversation import ConversationKey, InboundMessage, Place
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.slack")
KNOWN_FOR = 86_400.0
"""Seconds for which a name and a number of members hold."""
AGAIN = 60.0  # where the call has failed and Slack has not refused it

StartTask = Callable[[Coroutine[Any, Any, None], str], None]


class PlaceNames:
    """Names the places of messages, in tasks of their own."""

    def __init__(self, host: AdapterHost, calls: Calls, start_task: StartTask) -> None:
        self._calls = calls
        self._start_task = start_task
        self._places = KnownPlaces(host)
        self._asked: dict[tuple[str, str], float] = {}

    def note(self, message: InboundMessage) -> None:
        """Have the place of a message named, unless it was lately."""
        key, now = message.key, time.monotonic()
        if now - self._asked.get((key.workspace, key.channel), -KNOWN_FOR) > KNOWN_FOR:
            self._asked[key.workspace, key.channel] = now
            named = self._places.tell(key, Place(direct=True)) if message.direct else self._ask(key)
            self._start_task(named, "slack place")

    async def _ask(self, key: ConversationKey) -> None:
        try:
            answer = await self._calls.read(
                key.workspace, "conversations.info", channel=key.channel, include_num_members=True
            )
        except GatewayError as error:
            LOG.info("the name of a channel is not known: %s", error)
            if not is_final(error):
                self._asked[key.workspace, key.channel] += AGAIN - KNOWN_FOR
            return
        await self._places.tell(key, place_of(table_at(answer, "channel")))


def place_of(channel: Payload) -> Place:
    """A conversation object as a place."""
    members = channel.get("num_members")
    name = "group message" if channel.get("is_mpim") else f"#{text_at(channel, 'name')}"
    return Place(name=name, members=members if isinstance(members, int) else None)
