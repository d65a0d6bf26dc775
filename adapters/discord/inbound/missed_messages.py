"""Messages of a gap: answered if recent, else offered below a button.

An answer out of the blue, hours later, helps nobody.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from adapters.discord.connection.message_body import Message
from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.connection.values import BotIdentity, Channel, sent_at, snowflake
from adapters.discord.custom_ids import custom_id
from adapters.discord.inbound.contents import InboundContext
from adapters.discord.inbound.messages import MessageHandler
from adapters.discord.inbound.parse_messages import ParsedMessage, parse_message
from adapters.discord.read_message import read_buttons
from adapters.tolerated import tolerated
from gateway.adapter import NOT_ALLOWED, AdapterHost, AuthError
from gateway.client import Receipt
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayError, NotFound
from gateway.interactions import Button
from gateway.missed import (
    BEFORE_LOSS,
    MissedOutcome,
    MissedVerdict,
    OpenGap,
    ReadPage,
    outcome_of,
)
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.discord")

PAGE = 100
MARGIN = 60.0
"""Seconds by which Discord's clock may differ from ours."""
DIRECT = 1

MISSED = "I was offline and missed this."
GONE = "That message no longer exists."
NOTHING = "There is nothing left to answer."
ONE_ANSWERED = "I am answering now."
MORE = "I could not read all of it. Click again for the rest."

Missed: TypeAlias = tuple[InboundMessage, ParsedMessage]
Offer: TypeAlias = tuple[str, int, float]
"""A conversation, and the messages that a button answers: from its first to before its own."""


def place_of(account: str, channel: str) -> ConversationKey:
    """The work list's name for a channel or thread."""
    return ConversationKey(platform=account, channel=channel)


@dataclass(frozen=True, slots=True)
class MissedRange:
    """Missed messages of a channel, from `first` to before `end`.

    Somebody asked for their answers `at` this time.
    """

    channel: str
    guild: str
    first: str
    end: str
    at: float


class MissedMessages:
    """Reads gaps page by page.

    `me` gives the bot in a server, and raises the errors of calls. What happens in a channel
    meanwhile waits under its `lock`, so that an edit finds its message.
    """

    def __init__(
        self,
        host: AdapterHost,
        context: InboundContext,
        handler: MessageHandler,
        me: Callable[[str], Awaitable[BotIdentity]],
        lock: Callable[[str], asyncio.Lock],
    ) -> None:
        self._host = host
        self._context = context
        self._rest: Rest = context.rest
        self._handler = handler
        self._me = me
        self._lock = lock
        self._offered: dict[int, list[Offer]] = {}
        self._began = context.clock()  # what an earlier process posted may be used, and lost

    @property
    def account(self) -> str:
        """The bot's name in [adapters]."""
        return self._rest.account

    async def read(self, gap: OpenGap) -> ReadPage:
        """Hand in a page's messages, or offer to. Raises GatewayError.

        A thread is read to its present end: what was said there lately was for nobody, if the
        mention that begins its conversation is only found now.
        """
        channel = await self._channel(gap.place.channel)
        served = [channel.id, channel.parent]
        if channel.guild and not self._host.serves(self._rest.account, channel.guild, served):
            return ReadPage(gap=gap, cursor=None)
        me = await self._me(channel.guild)
        after = int(gap.cursor) if gap.cursor else snowflake(gap.since)
        async with self._lock(channel.id):
            page = await self._page(channel.id, after)
            inside = page if channel.is_thread else _before(page, gap.until + MARGIN)
            missed, untaken = await self._sort(gap, parse_page(inside, channel.guild, me), me)
            found = _counts(missed) + Counter[MissedOutcome]({"refused": untaken})
            if answered := missed["answer"]:
                LOG.info("answering %s missed messages of %s", len(answered), channel.id)
                found.update(_outcomes(await self._handler.submit_missed(answered, me)))
        await self._offer(gap, channel, missed["offer"], me)
        if len(page) < PAGE or len(inside) < len(page):
            self._offered.pop(gap.id, None)
            return ReadPage(gap=gap, cursor=None, found=found)
        return ReadPage(gap=gap, cursor=str(page[-1]["id"]), newest=gap.newest, found=found)

    async def _channel(self, channel: str) -> Channel:
        if channel in self._context.targets.direct:
            return Channel(id=channel, type=DIRECT)
        return await self._context.channels.get(channel)

    async def _page(self, channel: str, after: int) -> list[Mapping[str, Any]]:
        """The next messages, in the order of writing."""
        query = {"after": str(after), "limit": str(PAGE)}
        page = await self._rest.call("GET", f"/channels/{channel}/messages", query=query)
        return sorted(page, key=lambda message: int(message["id"]))

    async def _sort(
        self, gap: OpenGap, parsed: Iterable[ParsedMessage], me: BotIdentity
    ) -> tuple[dict[MissedVerdict, list[Missed]], int]:
        """The messages of a page for each verdict; commands are left out.

        Also the number of those of which Discord refuses to tell what is needed.
        """
        missed: dict[MissedVerdict, list[Missed]] = {"answer": [], "offer": [], "too_old": []}
        prepared, untaken = await self._prepare_all(parsed, me)
        for message, each in prepared:
            if self._host.is_command(message.text) or await self._is_muted(message):
                continue
            now, at = self._context.clock(), sent_at(each.id)
            missed[await self._host.missed_verdict(gap, at, now=now)].append((message, each))
        return missed, untaken

    async def _is_muted(self, message: InboundMessage) -> bool:
        """True if a mute, now or then, keeps it from the team."""
        thread = await self._host.thread_at(message.key)
        if thread is None or message.mentioned:
            return False
        if not thread.is_for_team(mentioned=False):
            return True
        return await self._host.was_muted(message.key, message.order_key)

    async def _prepare_all(
        self, parsed: Iterable[ParsedMessage], me: BotIdentity
    ) -> tuple[list[Missed], int]:
        """Messages meant for the team that were not taken yet.

        Also the number of those of which Discord refuses to tell what is needed.
        """
        found: list[Missed] = []
        untaken = 0
        begun: set[ConversationKey] = set()
        for each in await self._handler.not_taken(list(parsed)):
            try:
                message = await self._handler.prepare(each, me, begun=begun)
            except (CallRejected, NotFound) as error:
                LOG.error("could not take missed message %s: %s", each.id, error)  # noqa: TRY400 (the text says it all)
                untaken += 1
            else:
                if message is not None:
                    found.append((message, each))
                    if message.may_write:
                        begun.add(message.key)
        return found, untaken

    async def _offer(
        self, gap: OpenGap, channel: Channel, missed: Sequence[Missed], me: BotIdentity
    ) -> None:
        """Post a button below missed messages that none answers yet."""
        for message, parsed in missed:
            if not message.may_write:
                continue
            if gap.id not in self._offered:
                self._offered[gap.id] = await self._offers(gap, channel, me)
            key, at, offered = str(message.key), int(parsed.id), self._offered[gap.id]
            if not any(at == of or (key == to and of < at < end) for to, of, end in offered):
                offered.append((key, at, await self._post_offer(parsed)))

    async def _offers(self, gap: OpenGap, channel: Channel, me: BotIdentity) -> list[Offer]:
        """The buttons since the return, also of a killed process."""
        found: list[Offer] = []
        after = snowflake(gap.returned - MARGIN)
        while True:
            page = await self._page(channel.id, after)
            for card in page:
                if first := _missed_first(card, me):
                    below, key = card.get("referenced_message"), ""
                    for parsed in parse_page([below] if below else [], channel.guild, me):
                        key = str((await self._handler.find_conversation(parsed))[0])
                    found.append((key, int(first), int(card["id"])))
            if len(page) < PAGE:
                return found
            after = int(page[-1]["id"])

    async def _post_offer(self, first: ParsedMessage) -> float:
        """Post the button; its id, or infinity where that is refused."""
        offer = Message(content=MISSED, components=(_button(first.id, "Answer now"),))
        try:
            if (await self._handler.find_conversation(first))[1]:
                await self._context.targets.locked.check(first.channel)
            card = await self._rest.call(
                "POST",
                f"/channels/{first.channel}/messages",
                json=offer.body(nonce=f"{first.id}m{self._began % 1e4:.0f}", below=first.id),
            )
        except CallRejected as error:
            LOG.info("could not offer an answer to missed messages: %s", error)
            return math.inf
        return int(card["id"])

    async def answer(self, gap: MissedRange, author: Author, me: BotIdentity) -> str:
        """Hand in missed messages for an allowed author; the reply to them."""
        key = await self._key_of_first(gap, me)
        if key is None:
            return GONE
        clicked = InboundMessage(key=key, author=author, direct=not gap.guild)
        if not await self._host.may(clicked):
            return NOT_ALLOWED
        accepted, after, whole = 0, int(gap.first) - 1, False
        while not whole:
            try:
                page = await self._page(gap.channel, after)
            except GatewayError as error:
                if isinstance(error, AuthError) or not accepted:
                    raise
                LOG.info("could not read all of channel %s: %s", gap.channel, error)
                return f"{_answering(accepted)} {MORE}"
            inside = [each for each in page if int(each["id"]) < int(gap.end)]
            found = await self._take(gap, key, list(parse_page(inside, gap.guild, me)), me)
            if found["offer"]:
                return BEFORE_LOSS
            accepted += found["answer"]
            whole = len(page) < PAGE or len(inside) < len(page)
            after = int(page[-1]["id"]) if page else after
        await self._settle(gap)
        return _answering(accepted)

    async def _settle(self, gap: MissedRange) -> None:
        """Let the used button say so."""
        components = (_button(gap.first, "Answered", disabled=True),)
        path = f"/channels/{gap.channel}/messages/{gap.end}"
        with tolerated(LOG, "settle a used button"):
            body = Message(content=MISSED, components=components).body()
            await self._rest.call("PATCH", path, json=body)

    async def _key_of_first(self, gap: MissedRange, me: BotIdentity) -> ConversationKey | None:
        """The conversation of the first message; None if that is gone."""
        try:
            first = await self._rest.call("GET", f"/channels/{gap.channel}/messages/{gap.first}")
        except ApiError:
            return None
        for parsed in parse_page([first], gap.guild, me):
            return (await self._handler.find_conversation(parsed))[0]
        return None

    async def _take(
        self,
        gap: MissedRange,
        key: ConversationKey,
        parsed: Sequence[ParsedMessage],
        me: BotIdentity,
    ) -> Counter[MissedOutcome]:
        """Hand in the messages of a conversation; how many were taken."""
        there = [each for each in parsed if (await self._handler.find_conversation(each))[0] == key]
        prepared, _ = await self._prepare_all(there, me)
        asked = [(replace(message, at=gap.at), each) for message, each in prepared]
        return _outcomes(await self._handler.submit_missed(asked, me))


def _button(first: str, label: str, *, disabled: bool = False) -> dict[str, Any]:
    """A row with the button that has messages from `first` on answered."""
    ours = custom_id(Button(kind="missed", about=first))
    button = {"type": 2, "style": 1, "label": label, "custom_id": ours, "disabled": disabled}
    return {"type": 1, "components": [button]}


def parse_page(
    page: Iterable[Mapping[str, Any]], guild: str, me: BotIdentity
) -> Iterable[ParsedMessage]:
    """The readable messages of others."""
    for payload in page:
        try:
            parsed = parse_message({**payload, "guild_id": guild}, me)
        except (KeyError, TypeError, ValueError) as error:
            LOG.warning("could not parse a message: %r", error)
        else:
            if parsed is not None:
                yield parsed


def _before(page: Sequence[Mapping[str, Any]], end: float) -> Sequence[Mapping[str, Any]]:
    """Messages of a page that were written up to a time."""
    return [each for each in page if int(each["id"]) <= snowflake(end)]


def _missed_first(message: Mapping[str, Any], me: BotIdentity) -> str:
    """The first message that a card offers to answer, or ""."""
    if str(message["author"]["id"]) != me.user:
        return ""
    return next((each.about for each in read_buttons(message) if each.kind == "missed"), "")


def _counts(missed: Mapping[MissedVerdict, Sequence[Missed]]) -> Counter[MissedOutcome]:
    """Numbers of unanswered messages of people who may write."""
    found = Counter[MissedOutcome]()
    for verdict, those in missed.items():
        if verdict != "answer":
            found[verdict] = sum(message.may_write for message, _ in those)
    return +found


def _outcomes(receipts: Iterable[Receipt]) -> Counter[MissedOutcome]:
    """The numbers of messages taken and refused."""
    return Counter(outcome_of(each) for each in receipts)


def _answering(messages: int) -> str:
    if messages == 0:
        return NOTHING
    return ONE_ANSWERED if messages == 1 else f"I am answering {messages} messages now."
