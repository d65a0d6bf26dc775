"""Missed messages are handed in, or offered on cards of their threads."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from adapters.awaited_files import AwaitedFiles
from adapters.slack.action_ids import action_id
from adapters.slack.connection.payload import TS, Payload, ts_at
from adapters.slack.connection.web_api import Calls, is_final
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.history import History
from adapters.slack.inbound.message_content import button_values
from adapters.slack.inbound.parse_events import parse_history_message
from adapters.slack.inbound.parsed import Draft
from adapters.slack.inbound.replies import Replies
from gateway.adapter import AdapterHost
from gateway.base.clock import Clock, sleep
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import GatewayClosed, GatewayError, StoreError, StoreFull
from gateway.missed import BEFORE_LOSS, MissedOutcome, outcome_of
from gateway.surface import OutcomeUnknown, PlatformUnreachable, RateLimited

LOG = logging.getLogger("adapters.slack")

UNSTORED = (StoreError, StoreFull)
"""Errors of a disk that stores nothing."""
NOT_NOW = (PlatformUnreachable, RateLimited, OutcomeUnknown)
"""Errors after which a page is read again; that also shows whether a card was posted."""
LATER = (*UNSTORED, *NOT_NOW)
"""Errors after which the same message may be accepted later."""

UNTAKEN = "after a pause, a message could not be accepted: {why}"
UNOFFERED = "after a pause, an answer could not be offered: {why}"

MISSED = "I was away when {count} written here. Should I answer now?"
CANT_READ = "I can't read the thread right now. Try again in a minute."
NOTHING = "There is nothing left to answer."
NOT_TAKEN = "I could not accept any of these messages."
ANSWERED = "I was away when {count} written here. I am answering now."
REST = "I could not read all messages from the time when I was away. Should I continue?"
BUTTON = action_id("missed")
MOST_CARDS = 1000
"""Threads whose last card is known."""


class MissedMessages:
    """Hands in messages that were missed, and offers answers to them."""

    def __init__(
        self,
        host: AdapterHost,
        calls: Calls,
        drafts: Drafts,
        history: History,
        fetching: AwaitedFiles,
        replies: Replies,
        clock: Clock,
    ) -> None:
        self._host = host
        self._calls = calls
        self._drafts = drafts
        self._history = history
        self._fetching = fetching
        self._replies = replies
        self._clock = clock
        self._cards: dict[ConversationKey, tuple[float, float]] = {}
        """From when to when messages of a thread are on its last card."""

    async def wanted(
        self, said: Payload, team: str, channel: str, *, joined: bool = False
    ) -> Draft | None:
        """The draft of a missed message that is for the team.

        `joined`: the team is going to be in its thread.
        """
        draft = parse_history_message(said, team, channel, self._drafts.me(team))
        if not isinstance(draft, Draft) or await self._host.known_keys(draft.message.dedupe[:1]):
            return None
        if not await self._drafts.is_meant(draft, joined=joined):
            return None
        message = draft.message
        thread = await self._host.thread_at(message.key)
        if thread is not None and not thread.is_for_team(mentioned=draft.mentioned):
            return None
        if not draft.mentioned and await self._host.was_muted(message.key, message.order_key):
            return None
        limit = await self._host.history_limit(message.key)
        return draft if limit.allows(message.order_key, float(message.message_id)) else None

    async def hand_in(self, drafts: Sequence[Draft], asked: float = 0.0) -> Counter[MissedOutcome]:
        """Hand in drafts of a thread; how many were taken and refused.

        `asked` is when somebody wanted the answers. Raises GatewayError if they may be taken later.
        """
        said, untaken = await self._messages(drafts)
        done = +Counter[MissedOutcome]({"refused": untaken})
        if not said:
            return done
        receipts = await self._host.accept_missed(
            [replace(message, at=asked or message.at) for _, message in said]
        )
        await self._fetching.look()
        refused: dict[tuple[str, str], Draft] = {}
        for (draft, _), receipt in zip(said, receipts, strict=True):
            if receipt.reply and draft.user and not draft.bot:
                refused.setdefault((draft.user, receipt.reply), draft)
        for (_, reply), draft in refused.items():
            await self._replies.send(draft, reply)
        done.update(map(outcome_of, receipts))
        return done

    async def _messages(
        self, drafts: Sequence[Draft]
    ) -> tuple[list[tuple[Draft, InboundMessage]], int]:
        """Drafts of a thread with their messages, without commands.

        Also the number of those of which Slack refuses to tell what is needed.
        """
        found: list[tuple[Draft, InboundMessage]] = []
        first, untaken = True, 0
        for draft in drafts:
            try:
                message = await self._drafts.message(draft, first=first)
            except GatewayError as error:
                if not is_final(error):
                    raise
                LOG.warning("a missed message was not accepted: %s", error)
                self._host.remark(self._calls.clients.account, UNTAKEN.format(why=error))
                untaken += 1
                continue
            first = first and not message.may_write
            if not self._is_command(message):  # a command of then is about nothing of now
                found.append((draft, message))
        return found, untaken

    def _is_command(self, message: InboundMessage) -> bool:
        return message.event == "message" and self._host.is_command(message.text)

    async def offer(self, key: ConversationKey, first: str, count: int) -> MissedOutcome:
        """Post one card that offers an answer from `first` on.

        A root is met in its channel and, side by side, in its thread. "refused" where Slack takes
        none. Raises GatewayError if it may be posted later.
        """
        begin, end = self._cards.get(key, (0.0, 0.0))
        if begin <= float(first) < end:
            return "offer"
        self._cards[key] = (float(first), math.inf)
        try:
            outcome, card = await self._post_card(key, first, count)
        except BaseException:
            self._cards.pop(key, None)
            raise
        self._cards[key] = (float(first), card)
        while len(self._cards) > MOST_CARDS:
            del self._cards[next(iter(self._cards))]
        return outcome

    async def _post_card(
        self, key: ConversationKey, first: str, count: int
    ) -> tuple[MissedOutcome, float]:
        """Post the card; its time, or 0 for a refused one."""
        text = MISSED.format(count=_count_text(count))
        blocks = _card(text, f"{float(first) - 0.000001:.6f}")
        while True:
            try:
                posted = await self._calls.write(
                    key.workspace,
                    "chat.postMessage",
                    channel=key.channel,
                    thread_ts=key.root,
                    text=text,
                    blocks=blocks,
                )
            except RateLimited as error:
                await sleep(self._clock, error.retry_after)
                continue
            except GatewayError as error:
                if not is_final(error):
                    raise
                LOG.warning("an answer to missed messages was not offered: %s", error)
                self._host.remark(self._calls.clients.account, UNOFFERED.format(why=error))
                return "refused", 0.0
            return "offer", float(ts_at(posted, "ts") or "0")

    async def answer(self, draft: Draft, after: str) -> str:
        """Hand in the missed messages of a thread; a reply if any."""
        key = draft.message.key
        excerpt = await self._history.read(key, after=after)
        if excerpt is None:
            return CANT_READ
        found = await self._wanted(key, excerpt.messages, after)
        try:
            outcomes = await self.hand_in(found, draft.message.at or self._clock.time())
        except (GatewayClosed, *LATER):
            raise
        except GatewayError as error:
            LOG.warning("missed messages of a thread were not accepted: %s", error)
            return NOT_TAKEN
        if outcomes["offer"]:
            return BEFORE_LOSS
        taken = outcomes["answer"]
        if not found and excerpt.whole:
            return NOTHING
        if found and not taken:
            return NOT_TAKEN
        done = ANSWERED.format(count=_count_text(taken)) if taken else ""
        if excerpt.whole:
            await self._settle(draft, [_section(done)])
        else:
            text = f"{done} {REST}".strip()
            await self._settle(draft, _card(text, ts_at(excerpt.messages[-1], "ts")))
        return ""

    async def _wanted(
        self, key: ConversationKey, said: Iterable[Payload], after: str
    ) -> list[Draft]:
        found: list[Draft] = []
        for each in said:
            if float(ts_at(each, "ts") or "0") > float(after):
                draft = await self.wanted(each, key.workspace, key.channel, joined=bool(found))
                found += [draft] if draft else []
        return found

    async def _settle(self, draft: Draft, blocks: list[dict[str, Any]]) -> None:
        try:
            await self._calls.write(
                draft.message.key.workspace,
                "chat.update",
                channel=draft.message.key.channel,
                ts=draft.message.message_id,
                text=blocks[0]["text"]["text"],
                blocks=blocks,
            )
        except GatewayError as error:
            LOG.info("a card keeps its button: %s", error)


def offered_after(said: Payload) -> str:
    """The ts after which a card offers answers, "" for other messages."""
    return next(filter(TS.fullmatch, button_values(said, BUTTON)), "")


def _count_text(count: int) -> str:
    return "a message was" if count == 1 else f"{count} messages were"


def _card(text: str, after: str) -> list[dict[str, Any]]:
    """A text with a button that has missed messages answered."""
    button = {
        "type": "button",
        "action_id": BUTTON,
        "value": after,
        "text": {"type": "plain_text", "text": "Answer now"},
    }
    return [_section(text), {"type": "actions", "elements": [button]}]


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}
