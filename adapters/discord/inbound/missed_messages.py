"""Discord's history: pages of channels, and buttons below missed messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from adapters.discord.connection.message_body import Message
from adapters.discord.connection.rest import UNKNOWN_CHANNEL, ApiError
from adapters.discord.connection.values import (
    BotIdentity,
    Channel,
    Payload,
    sent_at,
    snowflake,
)
from adapters.discord.custom_ids import custom_id
from adapters.discord.inbound.archived_threads import ArchivedThreads, place_of
from adapters.discord.inbound.contents import InboundContext
from adapters.discord.inbound.message_handler import MessageHandler
from adapters.discord.inbound.parse_messages import ParsedMessage, parse_page
from adapters.discord.read_message import read_buttons
from gateway.adapter import AdapterHost
from gateway.base.clock import WallClock
from gateway.client import Receipt
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import GatewayError
from gateway.history import Found, OfferCard, Page, PlatformHistory
from gateway.interactions import Button
from gateway.missed import OpenGap
from gateway.surface import PlatformUnreachable

PAGE = 100
MARGIN = 60.0
"""Seconds by which Discord's clock may differ from ours."""
DIRECT = 1
FORBIDDEN = 403

_IN_THREAD = "thread "
"""Begins the cursor of a page in the thread of a card's first message."""

UNREADABLE = "after a pause, channel {channel} can't be read: {why}"


class DiscordClock(WallClock):
    """The machine's timers, with the time at Discord."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def time(self) -> float:
        """The time there."""
        return self._now()


class DiscordHistory(PlatformHistory[ParsedMessage]):
    """Discord's history.

    What happens in a channel meanwhile waits under its `lock`, so that an edit finds its message.
    """

    at_once = 4
    """Each place counts in a bucket of its own."""

    def __init__(
        self,
        host: AdapterHost,
        context: InboundContext,
        handler: MessageHandler,
        archives: ArchivedThreads,
        lock: Callable[[str], asyncio.Lock],
    ) -> None:
        super().__init__(context.rest.account, DiscordClock(context.clock))
        self._host = host
        self._context = context
        self._rest = context.rest
        self._handler = handler
        self._archives = archives
        self._lock = lock
        self.backfill = host.backfill(self)
        """Its reader."""
        self._began = context.clock()  # what an earlier process posted may be used, and lost

    @asynccontextmanager
    async def reading(self, place: ConversationKey) -> AsyncGenerator[None]:
        """Let what happens in a channel wait; its archive is none."""
        async with self._lock(f"{place.channel}{place.root}"):
            yield

    async def read_page(self, gap: OpenGap) -> Page[ParsedMessage]:
        """Read a page of a channel or an archive."""
        try:
            return await (self._archives.read(gap) if gap.place.root else self._channel_page(gap))
        except ApiError as error:
            if error.code == UNKNOWN_CHANNEL:
                return Page()
            if error.unreadable:
                raise
            told = UNREADABLE.format(channel=gap.place.channel, why=error)
            self._host.health.remark(self.account, told)
            raise PlatformUnreachable(str(error)) from error

    async def _channel_page(self, gap: OpenGap) -> Page[ParsedMessage]:
        """A thread is read to its present end.

        What was said there lately was for nobody, if the mention that begins its conversation is
        only found now.
        """
        channel = await self._channel(gap.place.channel)
        served = [channel.id, channel.parent]
        if channel.guild and not self._host.policy.serves(self.account, channel.guild, served):
            return Page()
        after = int(gap.cursor) if gap.cursor else snowflake(gap.since)
        end = None if channel.is_thread else snowflake(gap.until + MARGIN)
        return await self._page(channel, after, end)

    async def _channel(self, channel: str) -> Channel:
        if channel in self._context.targets.direct:
            return Channel(id=channel, type=DIRECT)
        return await self._context.cache.channel(channel)

    async def _messages(self, channel: str, after: int) -> list[Payload]:
        """The next messages, in the order of writing."""
        query = {"after": str(after), "limit": str(PAGE)}
        page = await self._rest.call("GET", _messages(channel), query=query)
        return sorted(page, key=lambda message: int(message["id"]))

    async def _page(self, channel: Channel, after: int, end: int | None) -> Page[ParsedMessage]:
        """A page up to an end."""
        page = await self._messages(channel.id, after)
        inside = [each for each in page if end is None or int(each["id"]) <= end]
        more = len(page) == PAGE and len(inside) == len(page)
        said = await self._found(inside, channel.guild)
        return Page(said=said, cursor=str(page[-1]["id"]) if more else None)

    async def _found(self, page: Iterable[Payload], guild: str) -> list[Found[ParsedMessage]]:
        me = await self._context.cache.me_known(guild)
        return [
            Found(key=key, id=parsed.id, at=sent_at(parsed.id), said=parsed)
            for parsed in parse_page(page, guild, me)
            for key, _ in [await self._handler.find_conversation(parsed)]
        ]

    async def prepare(self, found: Found[ParsedMessage], *, joined: bool) -> InboundMessage | None:
        """The judged message, if it is for the team."""
        return await self._handler.prepare(found.said, joined=joined)

    async def complete(
        self, message: InboundMessage, said: ParsedMessage, *, first: bool
    ) -> InboundMessage:
        """The whole message, with its thread before the `first` one."""
        return await self._handler.complete(message, said, first=first)

    async def tell(self, message: InboundMessage, said: ParsedMessage, receipt: Receipt) -> None:
        """Note what was taken, and reply to its author."""
        await self._handler.tell(message, said, receipt)

    # --- buttons ---

    async def cards(self, gap: OpenGap) -> Sequence[OfferCard]:
        """The buttons since the return, also of a killed process."""
        channel = await self._channel(gap.place.channel)
        me = await self._context.cache.me_known(channel.guild)
        after = snowflake(gap.returned - MARGIN)
        found = list[OfferCard]()
        while True:
            page = await self._messages(channel.id, after)
            for card in page:
                if first := _missed_first(card, me):
                    below = card.get("referenced_message")
                    said = await self._found([below] if below else [], channel.guild)
                    key = said[0].key if said else None
                    id_ = str(card["id"])
                    found.append(OfferCard(place=gap.place, id=id_, first=first, key=key))
            if len(page) < PAGE:
                return found
            after = int(page[-1]["id"])

    async def offer(self, card: OfferCard, key: ConversationKey, text: str) -> str:
        """Post a button below the first message that it answers."""
        channel = await self._channel(card.place.channel)
        if channel.is_thread:
            await self._context.targets.locked.check(channel.id)
        message = Message(content=text, components=(_button(card.first, "Answer now"),))
        nonce = f"{card.first}m{self._began % 1e4:.0f}"
        body = message.body(nonce=nonce, below=card.first)
        return str((await self._rest.call("POST", _messages(channel.id), json=body))["id"])

    async def card(self, channel: str, guild: str, first: str, id_: str) -> OfferCard | None:
        """A button that was clicked; None if the first message is gone."""
        try:
            said = await self._rest.call("GET", f"{_messages(channel)}/{first}")
        except ApiError:
            return None
        for found in await self._found([said], guild):
            return OfferCard(
                place=place_of(self.account, channel), id=id_, first=first, key=found.key
            )
        return None

    async def offered(self, card: OfferCard, cursor: str) -> Page[ParsedMessage]:
        """A page from the first message to before the button.

        If that message has a thread, its conversation goes on in there.
        """
        end, thread = int(card.id) - 1, cursor.startswith(_IN_THREAD)
        place = card.first if thread else card.place.channel
        channel = await self._channel(place)
        if thread:
            page = await self._page(channel, int(cursor.removeprefix(_IN_THREAD)), end)
            return replace(page, cursor=page.cursor and f"{_IN_THREAD}{page.cursor}")
        page = await self._page(channel, int(cursor or card.first) - (not cursor), end)
        if page.cursor is None and await self._has_thread(channel, card.first):
            return replace(page, cursor=f"{_IN_THREAD}{card.first}")
        return page

    async def _has_thread(self, channel: Channel, message: str) -> bool:
        """True if a thread hangs on a message, whose id it has."""
        if not channel.has_threads:
            return False
        try:
            return (await self._channel(message)).parent == channel.id
        except ApiError as error:
            if error.code == UNKNOWN_CHANNEL:
                return False
            raise

    async def settle(self, card: OfferCard, text: str, *, rest: str = "") -> None:
        """Let the used button say so."""
        first = card.first if rest.startswith(_IN_THREAD) else rest or card.first
        button = _button(first, "Answer now" if rest else "Answered", used=not rest)
        body = Message(content=text, components=(button,)).body()
        await self._rest.call("PATCH", f"{_messages(card.place.channel)}/{card.id}", json=body)

    def is_final(self, error: GatewayError) -> bool:
        """False for a proxy's page, which has no code of Discord's."""
        passing = isinstance(error, ApiError) and error.status == FORBIDDEN and not error.code
        return super().is_final(error) and not passing


def _messages(channel: str) -> str:
    return f"/channels/{channel}/messages"


def _button(first: str, label: str, *, used: bool = False) -> dict[str, Any]:
    """A row with the button that has messages from `first` on answered."""
    ours = custom_id(Button(kind="missed", about=first))
    button = {"type": 2, "style": 1, "label": label, "custom_id": ours, "disabled": used}
    return {"type": 1, "components": [button]}


def _missed_first(message: Payload, me: BotIdentity) -> str:
    """The first message that a card offers to answer, or ""."""
    if str(message["author"]["id"]) != me.user:
        return ""
    return next((each.about for each in read_buttons(message) if each.kind == "missed"), "")
