"""Contents of messages, in words, and of those that they point at."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from adapters.awaited_files import AwaitedFiles
from adapters.dead_ends import DeadEnds
from adapters.discord.connection.cache import Cache
from adapters.discord.connection.rest import Rest
from adapters.discord.connection.values import Sender
from adapters.discord.conversations.threads import MessageTarget, MessageTargets
from adapters.discord.inbound.author_lookup import AuthorLookup
from adapters.discord.inbound.parse_messages import (
    ParsedMessage,
    PointedMessage,
    in_words,
    names_places,
    quoted,
)
from adapters.tolerated import tolerated
from gateway.adapter import AdapterHost
from gateway.conversation import ConversationKey, InboundMessage
from gateway.visible import Pointed, UnreadPart, VisibleContent, with_content

LOG = logging.getLogger("adapters.discord")


LINK = re.compile(
    r"https://(?:(?:ptb|canary)\.)?discord(?:app)?\.com/channels/"
    r"(?P<guild>\d{1,20})/(?P<channel>\d{1,20})/(?P<message>\d{1,20})",
    re.ASCII,
)
MOST_LINKS, LINK_SECONDS = 3, 1.0
LINKED = UnreadPart(what="the message behind a link")


class DirectMessages(Protocol):
    """Sends to people in their conversation with the bot."""

    async def send(self, key: ConversationKey, person: str, text: str, *, nonce: str = "") -> None:
        """Send a text, once with a `nonce`. Raises GatewayError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundContext:
    """Discord's state that messages need.

    `clock` is in seconds since the epoch; `offer` has a channel read from a time on, so that
    answers are offered there.
    """

    rest: Rest
    direct: DirectMessages
    dead_ends: DeadEnds
    targets: MessageTargets
    cache: Cache
    people: AuthorLookup
    fetching: AwaitedFiles
    clock: Callable[[], float]
    offer: Callable[[str, float], Awaitable[None]]

    async def find_conversation(
        self, channel: str, guild: str, root: str
    ) -> tuple[ConversationKey, bool]:
        """The conversation of a message in a channel; True for a thread.

        `root` is the message that a conversation outside threads hangs on. Raises the errors of
        calls.
        """
        targets = self.targets
        if not guild:
            return targets.key("", channel), False
        found = await self.cache.channel(channel)
        if not found.is_thread:
            return targets.key(guild, channel, targets.root_of(root)), False
        await targets.look_up_root(channel)
        key = targets.key_of_thread(guild, found.parent, channel)
        targets.set_target(key, MessageTarget(channel, thread=True))
        return key, True


class Contents:
    """Reads contents with the names that Discord has for its marks."""

    def __init__(self, host: AdapterHost, context: InboundContext) -> None:
        self._host = host
        self._context = context

    async def add(
        self,
        message: InboundMessage,
        parsed: ParsedMessage,
        earlier: Sequence[PointedMessage] = (),
    ) -> InboundMessage:
        """The message with all that it shows, points at, and comes after."""
        content = replace(parsed.content, text=parsed.own_text)
        linked = await self._linked(message, parsed)
        unread = tuple(LINKED for each in linked if each is None)
        content = replace(content, unread=(*content.unread, *unread))
        own = PointedMessage(
            content=VisibleContent() if parsed.is_bare else content, names=parsed.names
        )
        pointed = (*earlier, *parsed.pointed, *filter(None, linked))
        return await self.add_pointed(message, own, pointed, parsed.guild)

    async def _linked(
        self, message: InboundMessage, parsed: ParsedMessage
    ) -> list[PointedMessage | None]:
        """Messages whose links were pasted; None for one that can't be read.

        Only what the author surely sees is read, and not for those who may not write.
        """
        found: list[PointedMessage | None] = []
        links = [*islice(LINK.finditer(parsed.content.text), MOST_LINKS)] if parsed.guild else []
        if not links or not (await self._host.judge(message)).may_write:
            return []
        for link in links:
            there, sender = link["channel"], parsed.sender
            said = None
            if there == parsed.channel or (
                link["guild"] == parsed.guild
                and self._context.cache.sees(there, sender.id, message.author.groups)
            ):
                with tolerated(LOG, f"read a linked message in {there}"):
                    async with asyncio.timeout(LINK_SECONDS):
                        path = f"/channels/{there}/messages/{link['message']}"
                        said = quoted(await self._context.rest.call("GET", path))
            found.append(said and replace(said, kind="forward"))
        return found

    async def add_pointed(
        self,
        message: InboundMessage,
        own: PointedMessage,
        pointed: Sequence[PointedMessage],
        guild: str,
    ) -> InboundMessage:
        """The message with its own contents, and with what was pointed at."""
        if any(names_places(each.content) for each in (own, *pointed)):
            await self._context.cache.learn(guild)
        senders = {each.sender.id: each.sender for each in pointed if each.sender is not None}
        trusted = [
            id_
            for id_, sender in senders.items()
            if await self.may_write(sender, message.key, guild)
        ]
        found: list[tuple[Pointed, VisibleContent]] = [
            (each.kind, self.read(each)) for each in pointed
        ]
        return with_content(message, self.read(own), found, trusted=trusted)

    def read(self, message: PointedMessage) -> VisibleContent:
        """The contents, with words for the marks whose names are known."""
        cache = self._context.cache
        return message.content.map(
            lambda text: in_words(text, message.names, cache.channel_name, cache.role)
        )

    async def may_write(self, sender: Sender, key: ConversationKey, guild: str) -> bool:
        """True if somebody may write there; False if Discord can't identify them."""
        with tolerated(LOG, f"look up user {sender.id}"):
            author = await self._context.people.author(sender, guild)
            return (
                await self._host.judge(InboundMessage(key=key, author=author, direct=not guild))
            ).may_write
        return False
