"""Messages missed while disconnected, read from Discord's history.

Messages up to a quarter of an hour old are answered, those of one person in a row as one. Older
ones wait below a button: an answer out of the blue, hours later, helps nobody.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.discord.connection.message_body import Message
from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.connection.values import BotIdentity, Channel, snowflake
from adapters.discord.custom_ids import Action
from adapters.discord.inbound.messages import FRESH, MessageHandler, sent_at
from adapters.discord.inbound.parse_messages import ParsedMessage, parse_message
from gateway.adapter import NOT_ALLOWED
from gateway.conversation import Author, InboundMessage
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.discord")

OLDEST = 86_400.0
MOST_MISSED = 50
PAGE = 100
PAGES = 5
OVERLAP = 60.0
"""Seconds before the gap that are read again: what was under way then may not have been taken."""
READS = 4
"""Channels that are read at a time."""

TEXT_CHANNELS = frozenset({0, 1, 5, 10, 11, 12})
MISSED = "I was away and have missed this."
GONE = "That message is not there any more."
TAKEN = "The team answers."
MORE = "More was said than can be read; what the team is still to answer, say again."


@dataclass(slots=True)
class _PendingMessage:
    """A message to be taken, and the ones it is made of."""

    message: InboundMessage
    said: list[ParsedMessage] = field(default_factory=list[ParsedMessage])


@dataclass(frozen=True, slots=True)
class MissedRange:
    """Missed messages of a channel, from `first` to before `end`."""

    channel: str
    guild: str
    first: str
    end: str


class CatchUp:
    """Reads channels with messages since a time (seconds since the epoch)."""

    def __init__(
        self, rest: Rest, hearing: MessageHandler, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._rest = rest
        self._handler = hearing
        self._reading = asyncio.Semaphore(READS)

    async def read(
        self, channels: Iterable[tuple[Channel, str]], since: float, me: BotIdentity
    ) -> None:
        """Take missed messages of channels, given with their last message's id."""
        since = max(since, self._clock() - OLDEST)
        for channel, last in channels:
            if channel.type in TEXT_CHANNELS and (
                not last or int(last) > snowflake(since - OVERLAP)
            ):
                await self._read(channel, since, me)

    async def _read(self, channel: Channel, since: float, me: BotIdentity) -> None:
        try:
            async with self._reading:
                page = await self._history(channel, since - OVERLAP)
        except ApiError as error:
            LOG.info("channel %s can't be caught up with: %s", channel.id, error)
            return
        said = list(_parse_page(page, channel.guild, me))
        now = self._clock()
        fresh = [each for each in said if now - sent_at(each) <= FRESH]
        old = [each for each in said if now - sent_at(each) > FRESH]
        for found in await self._prepare_all(fresh, me):
            LOG.info("a message of channel %s is taken late", channel.id)
            await self._handler.submit(found.message, found.said[-1], me)
        await self._offer_missed((await self._prepare_all(old, me, files=False))[-MOST_MISSED:])

    async def _history(self, channel: Channel, since: float) -> list[Mapping[str, Any]]:
        """The messages since then, in order; the newest if too many."""
        after, found = snowflake(since), list[Mapping[str, Any]]()
        query = {"limit": str(PAGE)}
        for _ in range(PAGES):
            page = await self._rest.call("GET", f"/channels/{channel.id}/messages", query=query)
            found += (each for each in page if int(each["id"]) > after)
            oldest = min((int(each["id"]) for each in page), default=after)
            if len(page) < PAGE or oldest <= after:
                break
            query["before"] = str(oldest)
        else:
            LOG.warning("channel %s: only the newest of what was missed is read", channel.id)
        return sorted(found, key=lambda message: int(message["id"]))

    async def _prepare_all(
        self, said: Sequence[ParsedMessage], me: BotIdentity, *, files: bool = True
    ) -> list[_PendingMessage]:
        """Messages meant for the team, one person's consecutive ones joined."""
        found: list[_PendingMessage] = []
        for each in said:
            message = await self._handler.prepare(each, me, files=files)
            if message is None or await self._handler.is_known(message):
                continue
            last = found[-1] if found else None
            if last and _can_join(last.message, message):
                last.message = _join_messages(last.message, message)
                last.said.append(each)
            else:
                found.append(_PendingMessage(message, [each]))
        return found

    async def _offer_missed(self, missed: Sequence[_PendingMessage]) -> None:
        """Post a button below missed messages, one per conversation that allows writing."""
        offered: set[str] = set()
        for found in missed:
            first = found.said[0]
            if str(found.message.key) in offered or not await self._handler.may(found.message):
                continue
            offered.add(str(found.message.key))
            try:
                await self._post_offer(first)
            except GatewayError as error:
                LOG.info("that something was missed can't be told: %s", error)

    async def _post_offer(self, first: ParsedMessage) -> None:
        action = Action(kind="missed", what=first.id)
        button = {"type": 2, "style": 1, "label": "Answer now", "custom_id": str(action)}
        row = {"type": 1, "components": [button]}
        offer = Message(content=MISSED, components=(row,))
        await self._rest.call(
            "POST",
            f"/channels/{first.channel}/messages",
            json=offer.body(nonce=f"m{first.id}", below=first.id),
        )

    async def answer(self, gap: MissedRange, author: Author, me: BotIdentity) -> str:
        """Take missed messages for an allowed author; the reply to them."""
        try:
            found, whole = await self._read_range(gap)
        except (ApiError, ValueError):
            return GONE
        missed = list(_parse_page(found, gap.guild, me))
        if not missed or missed[0].id != gap.first:
            return GONE
        key, _ = await self._handler.find_conversation(missed[0])
        if not await self._handler.may(
            InboundMessage(key=key, author=author, direct=not gap.guild)
        ):
            return NOT_ALLOWED
        taken = 0
        for said in missed:
            if (await self._handler.find_conversation(said))[0] == key:
                receipt = await self._handler.handle(said, me)
                taken += receipt is not None and receipt.outcome != "refused"
        told = TAKEN if taken == 1 else f"The team answers {taken} messages."
        return told if whole else f"{told} {MORE}"

    async def _read_range(self, gap: MissedRange) -> tuple[list[Mapping[str, Any]], bool]:
        """The messages of a gap, in order, and whether those are all."""
        found: list[Mapping[str, Any]] = []
        after, end = int(gap.first) - 1, int(gap.end)
        for _ in range(PAGES):
            query = {"after": str(after), "limit": str(PAGE)}
            page = await self._rest.call("GET", f"/channels/{gap.channel}/messages", query=query)
            page.sort(key=lambda message: int(message["id"]))
            found += (each for each in page if int(each["id"]) < end)
            if len(page) < PAGE or int(page[-1]["id"]) >= end:
                return found, True
            after = int(page[-1]["id"])
        return found, False


def _parse_page(
    page: Sequence[Mapping[str, Any]], guild: str, me: BotIdentity
) -> Iterable[ParsedMessage]:
    for payload in page:
        try:
            said = parse_message({**payload, "guild_id": guild}, me)
        except (KeyError, TypeError, ValueError) as error:
            LOG.warning("a message can't be read: %r", error)
        else:
            if said is not None:
                yield said


def _can_join(one: InboundMessage, other: InboundMessage) -> bool:
    plain = not (one.reply_to or other.reply_to) and not other.text.startswith("/")
    return plain and (one.key, one.author.id) == (other.key, other.author.id)


def _join_messages(one: InboundMessage, other: InboundMessage) -> InboundMessage:
    return replace(
        one,
        text=f"{one.text}\n\n{other.text}",
        dedupe=(*one.dedupe, *other.dedupe),
        attachments=(*one.attachments, *other.attachments),
        quotes=(*one.quotes, *other.quotes),
    )
