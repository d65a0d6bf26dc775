"""Missed messages: which are for the team, and what becomes of them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Generic, Protocol

from gateway.adapter import AdapterHost
from gateway.base.clock import ClockTrust
from gateway.base.describe import describe
from gateway.base.metrics import Metrics
from gateway.client import Receipt
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import GatewayError
from gateway.history import Found, Page, PlatformHistory, Said
from gateway.missed import MissedOutcome, MissedVerdict, OpenGap, outcome_of
from gateway.store.decisions import MUTE, UNMUTE
from gateway.store.protocols import SessionStore
from gateway.store.units import inbox
from gateway.store.units import losses as loss_units
from gateway.values import value

LOG = logging.getLogger("gateway")

UNTAKEN = "after a pause, a message could not be accepted: {why}"


class BackfillHost(AdapterHost, Protocol):
    """The AdapterHost, and what else decides about missed messages."""

    @property
    def store(self) -> SessionStore:
        """The store, with the work list."""
        ...

    @property
    def vitals(self) -> Metrics:
        """The gateway's vital figures."""
        ...

    @property
    def trust(self) -> ClockTrust:
        """Trust in the clock."""
        ...

    @property
    def has_others(self) -> bool:
        """True while other nodes serve the same store."""
        ...

    async def accept_missed(self, messages: Sequence[InboundMessage]) -> Sequence[Receipt]:
        """Take messages that were written while Parley was away, all or none."""
        ...


async def may_be_answered(store: SessionStore, trust: ClockTrust, at: float) -> bool:
    """True if an unknown message of this time may have been answered.

    That is so for all that was written before a backup took the store's place, or before commits
    were found missing: of the newest messages the store then knows nothing.
    """
    losses = await store.run(loss_units.losses)
    return at <= trust.began() and any(at <= loss.until for loss in losses)


@value
class Missed(Generic[Said]):
    """A message for the team that was not taken, and its fate."""

    message: InboundMessage
    found: Found[Said]
    verdict: MissedVerdict = "answer"


class MissedMessages(Generic[Said]):
    """Judges a platform's missed messages, and hands in those to answer."""

    def __init__(self, host: BackfillHost, history: PlatformHistory[Said]) -> None:
        self._host = host
        self._history = history
        self.back: float | None = None
        """When the platform was last connected to again, as its gaps tell."""

    async def sort(
        self, page: Page[Said], gap: OpenGap | None, joined: Collection[ConversationKey] = ()
    ) -> tuple[dict[str, Missed[Said]], int]:
        """Messages of a page for the team, by their ids. Raises GatewayError.

        Without a gap they are to be answered. Also the number of those that are refused: somebody
        may not write, or the platform does not tell what is needed.
        """
        messages = [each for each in page.said if isinstance(each, Found)]
        known = await self._host.known_keys([each.dedupe for each in messages])
        joins, found, refused = set(joined), dict[str, Missed[Said]](), 0
        for each in messages:
            try:
                if each.dedupe in known:
                    if gap is not None and each.edited > gap.since:
                        await self._hand_in_edit(each)
                    continue
                message = await self._history.prepare(each, joined=each.key in joins)
            except GatewayError as error:
                refused += self._refused(error)
                continue
            if message is None or not await self._is_wanted(message, each):
                continue
            if message.ruling is None:
                message = await self._host.judge(message)
            if message.may_write:
                joins.add(message.key)
            verdict = "answer" if gap is None else await self._verdict(gap, each.at)
            if message.may_write or verdict == "answer":  # who may not write is told so
                found[each.id] = Missed(message=message, found=each, verdict=verdict)
            else:
                refused += 1
        return found, refused

    async def _hand_in_edit(self, found: Found[Said]) -> None:
        """Hand in an edit: its message may have been delivered without it."""
        if (edit := await self._history.edit(found)) is not None:
            await self._host.accept(edit)

    def _refused(self, error: GatewayError) -> int:
        """One more refused message. Raises the error if that may change."""
        if not self._history.is_final(error):
            raise error
        LOG.warning("a missed message was not accepted: %s", error)
        self._host.health.remark(self._history.account, UNTAKEN.format(why=error))
        return 1

    async def _is_wanted(self, message: InboundMessage, found: Found[Said]) -> bool:
        """False for commands of then, and what is muted or deleted."""
        host = self._host
        if message.event == "message" and host.is_command(message.text):
            return False
        thread = await host.conversations.thread_at(message.key)
        if thread is not None and not thread.is_for_team(mentioned=message.mentioned):
            return False
        if not message.mentioned and await self._was_muted(message):
            return False
        limit = await host.conversations.history_limit(message.key)
        return limit.allows(message.order_key, found.at)

    async def _was_muted(self, message: InboundMessage) -> bool:
        """True if its place was muted then, and answers again since."""
        host = self._host
        thread = await host.conversations.thread_at(message.key)
        if thread is None or thread.muted:
            return False
        last = await host.store.run(
            inbox.last_command, thread.id, message.order_key, (MUTE, UNMUTE)
        )
        return last == MUTE

    async def _verdict(self, gap: OpenGap, at: float) -> MissedVerdict:
        """The fate of an unknown message, by its age at the return.

        What was said after all returns that are known has the age that it has now. Nothing is too
        old by a clock that is doubted, and nobody answers unasked what may have been answered
        before the store lost it.
        """
        now = self._history.clock.time()
        back = now if self.back is None or at > self.back else self.back
        match verdict := gap.verdict(at, self._host.limits.missed, back=back):
            case "answer":
                return (
                    "offer"
                    if await may_be_answered(self._host.store, self._host.trust, at)
                    else verdict
                )
            case "offer":
                return verdict
            case "too_old":
                return verdict if self._host.trust.holds() else "offer"

    async def hand_in(
        self, missed: Sequence[Missed[Said]], *, asked: float = 0.0
    ) -> Counter[MissedOutcome]:
        """Hand in messages, all or none; their number by the outcomes.

        `asked` is when somebody wanted the answers. Raises GatewayError.
        """
        whole, begun, refused = list[Missed[Said]](), set[ConversationKey](), 0
        for each in missed:
            key = each.message.key
            try:
                message = await self._history.complete(
                    each.message, each.found.said, first=key not in begun
                )
            except GatewayError as error:
                refused += self._refused(error)
                continue
            if message.may_write:  # the next ones come after it, so it is no history of theirs
                begun.add(key)
            whole.append(replace(each, message=replace(message, at=asked or message.at)))
        receipts = await self._host.accept_missed([each.message for each in whole]) if whole else ()
        told = set[tuple[ConversationKey, str, str]]()
        for each, receipt in zip(whole, receipts, strict=True):
            said = (each.message.key, each.message.author.id, receipt.reply)
            await self._tell(each, replace(receipt, reply="") if said in told else receipt)
            told.add(said)
            if each.found.edited:  # it may have been delivered since it was found unknown
                await self._hand_in_edit(each.found)
        done = Counter[MissedOutcome](map(outcome_of, receipts))
        done["refused"] += refused
        return +done

    async def _tell(self, missed: Missed[Said], receipt: Receipt) -> None:
        try:
            await self._history.tell(missed.message, missed.found.said, receipt)
        except GatewayError as error:  # it is taken
            LOG.warning("the author of a missed message was not told: %s", describe(error))
