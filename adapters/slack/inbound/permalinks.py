"""Links to messages: what stands there is read.

Messages of Slack Connect and of an organisation may be linked by the address of another workspace.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from itertools import islice

from adapters.slack.connection.payload import Payload, table_at, tables_at, ts_at
from adapters.slack.connection.rate_limits import REPLIES
from adapters.slack.inbound.history import QUOTE_SECONDS, Quoted
from adapters.slack.inbound.message_content import read_message
from adapters.slack.inbound.read_rates import ReadRates
from gateway.base.describe import describe
from gateway.conversation import InboundMessage
from gateway.errors import GatewayError
from gateway.visible import UnreadPart, VisibleContent

LOG = logging.getLogger("adapters.slack")

MOST = 3
"""Links of a message that are read."""
LINKED = UnreadPart(what="the message behind a link")
# docs.slack.dev, "chat.getPermalink method": the ts without its point, and a reply's root.
_LINK = re.compile(
    r"<https://[a-z0-9.-]{1,200}\.slack(?:-gov)?\.com/archives/(?P<channel>[A-Z0-9]{1,20})/p"
    r"(?P<at>\d{10})(?P<micros>\d{6})(?:\?thread_ts=(?P<root>[\d.]{1,26}))?",
    re.ASCII,
)


class Permalinks:
    """Reads what a message links to, if its author sees it."""

    def __init__(self, rates: ReadRates) -> None:
        self._rates = rates

    async def read(
        self, message: InboundMessage, user: str, content: VisibleContent
    ) -> tuple[VisibleContent, tuple[Quoted, ...]]:
        """The content with what is unreadable, and the messages.

        A link that Slack has unfolded is in the content already.
        """
        links = () if content.forwards else _LINK.finditer(content.text)
        found: list[Quoted] = []
        for link in islice(links, MOST):
            try:
                async with asyncio.timeout(QUOTE_SECONDS):
                    said = await self._linked(message, user, link)
            except (GatewayError, TimeoutError) as error:
                LOG.info("a linked message was not read: %s", describe(error))
                said = None
            if said is None:
                content = replace(content, unread=(*content.unread, LINKED))
            else:
                found.append(("forward", read_message(said)))
        return content, tuple(found)

    async def _linked(
        self, message: InboundMessage, user: str, link: re.Match[str]
    ) -> Payload | None:
        """The message at a link; None if gone, or not for them."""
        team, channel = message.key.workspace, link["channel"]
        if channel != message.key.channel and not await self._sees(message, user, channel):
            return None
        ts = f"{link['at']}.{link['micros']}"
        bounds = {"oldest": ts, "latest": ts, "inclusive": True}
        answer = await self._rates.read(
            team, REPLIES, channel=channel, ts=link["root"] or ts, limit=2, **bounds
        )
        said = tables_at(answer, "messages")
        return next((each for each in said if ts_at(each, "ts") == ts), None)

    async def _sees(self, message: InboundMessage, user: str, channel: str) -> bool:
        """True if the author sees a channel: public, or with them."""
        team, calls = message.key.workspace, self._rates.calls
        answer = await calls.read(team, "conversations.info", channel=channel)
        is_public = table_at(answer, "channel").get("is_private") is False
        if is_public and message.author.kind == "member":
            return True
        members = await calls.read(team, "conversations.members", channel=channel, limit=999)
        return user in (members.get("members") or ())
