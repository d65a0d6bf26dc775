"""Cards that offer answers to missed messages, and what "Answer now" does."""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Generic

from gateway.adapter import NOT_ALLOWED, AuthError
from gateway.backfill.missed_messages import BackfillHost, Missed, MissedMessages
from gateway.base.clock import sleep
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import UNSTORED, GatewayClosed, GatewayError
from gateway.history import UNPOSTED, Found, OfferCard, Page, PlatformHistory, Said
from gateway.missed import BEFORE_LOSS, MissedOutcome, OpenGap
from gateway.surface import RateLimited

LOG = logging.getLogger("gateway")

LATER = (AuthError, GatewayClosed, *UNSTORED)
"""Errors after which the same may be tried again, by whoever clicks."""
MOST_CARDS = 1000
"""Conversations whose last card is known."""
_PENDING = re.compile(r"(\S*) (\S*) (\d+)")
"""A cursor with the first message that is to be offered at the end, and their number."""

UNOFFERED = "after a pause, an answer could not be offered: {why}"
MISSED = "I was away when {count} written here. Should I answer now?"
ANSWERED = "I was away when {count} written here. I am answering now."
REST = "I could not read all messages from the time when I was away. Should I continue?"
CANT_READ = "I can't read the messages right now. Try again in a minute."
NOTHING = "No message is left to answer."
NOT_TAKEN = "I could not accept any of these messages."


@dataclass(slots=True)
class Pending:
    """Messages of a conversation that no card offers yet."""

    first: str
    count: int = 0


class Offers(Generic[Said]):
    """Posts a platform's cards, and answers what they offer."""

    def __init__(
        self, host: BackfillHost, history: PlatformHistory[Said], missed: MissedMessages[Said]
    ) -> None:
        self._host = host
        self._history = history
        self._missed = missed
        self._posted: dict[ConversationKey, OfferCard] = {}
        """The last card of each conversation."""
        self._seen: dict[int, list[OfferCard]] = {}
        """Cards of gaps that are being read."""

    async def on_page(
        self,
        gap: OpenGap,
        page: Page[Said],
        missed: dict[str, Missed[Said]],
        pending: dict[ConversationKey, Pending],
    ) -> int:
        """Add a page's messages to what is pending.

        A card hides nothing that was written before what it offers, nor after it.
        """
        offered = 0
        for each in page.said:
            if isinstance(each, OfferCard):
                waits = pending.get(each.place)
                if waits is not None and each.covers(each.place, waits.first):
                    offered += pending.pop(each.place).count
            elif each.id in missed and missed[each.id].verdict == "offer":
                if each.key not in pending and await self._is_offered(gap, each):
                    offered += 1
                else:  # the new card offers all from its first message on
                    pending.setdefault(each.key, Pending(each.id)).count += 1
        return offered

    async def _is_offered(self, gap: OpenGap, found: Found[Said]) -> bool:
        """True if a card, also of a killed process, offers it."""
        if gap.id not in self._seen:
            self._seen[gap.id] = [*await self._history.cards(gap)]
        last = self._posted.get(found.key)
        cards = [*self._seen[gap.id], *([last] if last else ())]
        return any(card.covers(found.key, found.id) for card in cards)

    async def post(
        self, gap: OpenGap, page: Page[Said], pending: dict[ConversationKey, Pending]
    ) -> tuple[Counter[MissedOutcome], str | None]:
        """Post the cards of a page; the cursor of the next one.

        The conversation of a place with a root has its card at the end. Raises GatewayError.
        """
        cursor, found = page.cursor, Counter[MissedOutcome]()
        if cursor is not None and gap.place.root:
            for waits in pending.values():
                cursor = f"{page.cursor} {waits.first} {waits.count}"
            return found, cursor
        for key, waits in pending.items():
            whole = cursor is None or key.root == waits.first
            card = OfferCard(place=gap.place, id=UNPOSTED, first=waits.first, key=key)
            found[await self._post(gap, key, card, waits.count if whole else 0)] += waits.count
        if cursor is None:
            self._seen.pop(gap.id, None)
        return found, cursor

    async def _post(
        self, gap: OpenGap, key: ConversationKey, card: OfferCard, count: int
    ) -> MissedOutcome:
        """Post a card unless one stands; "refused" where none may be."""
        last = self._posted.get(key)
        if last is not None and last.covers(key, card.first):
            return "offer"
        self._posted[key] = card
        text = MISSED.format(count=count_text(count))
        try:
            posted = replace(card, id=await self._post_in_turn(card, key, text))
        except GatewayError as error:
            if not self._history.is_final(error):
                raise
            LOG.warning("an answer to missed messages was not offered: %s", error)
            self._host.health.remark(self._history.account, UNOFFERED.format(why=error))
            return "refused"
        finally:
            del self._posted[key]
        self._posted[key] = posted
        self._seen.setdefault(gap.id, []).append(posted)
        while len(self._posted) > MOST_CARDS:
            del self._posted[next(iter(self._posted))]
        return "offer"

    async def _post_in_turn(self, card: OfferCard, key: ConversationKey, text: str) -> str:
        while True:
            try:
                return await self._history.offer(card, key, text)
            except RateLimited as error:
                await sleep(self._history.clock, error.retry_after)

    async def answer(self, card: OfferCard, clicked: InboundMessage) -> str:
        """Answer what a card offers; the reply, "" if it says it."""
        if not (await self._host.judge(clicked)).may_write:
            return NOT_ALLOWED
        asked = clicked.at or self._history.clock.time()
        taken, seen, cursor, key = 0, 0, "", card.key or clicked.key
        rest = ""
        while True:
            try:
                page = await self._history.offered(card, cursor)
                said = [each for each in page.said if isinstance(each, Found) and each.key == key]
                joined = {key} if seen else set[ConversationKey]()
                found, refused = await self._missed.sort(replace(page, said=said), None, joined)
                outcomes = await self._missed.hand_in([*found.values()], asked=asked)
            except LATER:
                raise
            except GatewayError as error:
                LOG.warning("missed messages were not answered: %s", error)
                if not seen and not cursor:
                    return CANT_READ
                rest = cursor
                break
            if outcomes["offer"]:
                return BEFORE_LOSS
            taken, seen = taken + outcomes["answer"], seen + len(found) + refused
            if page.cursor is None:
                break
            cursor = page.cursor
        if not rest and not taken:
            return NOT_TAKEN if seen else NOTHING
        done = ANSWERED.format(count=count_text(taken)) if taken else ""
        await self._settle(card, f"{done} {REST if rest else ''}".strip(), rest)
        return ""

    async def _settle(self, card: OfferCard, text: str, rest: str) -> None:
        try:
            await self._history.settle(card, text, rest=rest)
        except GatewayError as error:
            LOG.info("a card keeps its button: %s", error)


def parse_cursor(gap: OpenGap) -> tuple[OpenGap, dict[ConversationKey, Pending]]:
    """The gap with its adapter's cursor, and the pending offer."""
    found = _PENDING.fullmatch(gap.cursor) if gap.place.root else None
    if found is None:
        return gap, {}
    cursor, first, count = found.groups()
    pending = {gap.place: Pending(first, int(count))} if first else {}
    return replace(gap, cursor=cursor), pending


def count_text(count: int) -> str:
    """A number of messages with its verb; 0 if unknown."""
    if count == 1:
        return "a message was"
    return f"{count} messages were" if count else "messages were"
