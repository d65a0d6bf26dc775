"""Backfill of messages that were sent while Parley was away.

Slack itself delivers again what arrived within the last minutes. Older messages are handed in, as
one of each author, where they are recent; else the thread gets a card that offers an answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from adapters.slack.action_ids import action_id
from adapters.slack.config import PLATFORM
from adapters.slack.connection.payload import Payload, ts_at
from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.drafts import Drafts
from adapters.slack.inbound.files import AwaitedFiles
from adapters.slack.inbound.history import History
from adapters.slack.inbound.parse_events import parse_history_message
from adapters.slack.inbound.parsed import Draft
from gateway.adapter import AdapterHost
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import GatewayError, StoreError, StoreFull

LOG = logging.getLogger("adapters.slack")

GAP = 30.0
"""Seconds without a connection after which it is worth looking: less is delivered again anyway."""
RECENT = 900.0
OLDEST = 86_400.0
MOST_CARDS = 50
CHANNELS, THREADS = 10, 20
"""Places that are looked at, those first in which something happened last."""
LOOKED_AT = 200

UNREAD = (
    "after a pause, {places} conversations could not be read to the end; anyone who wrote there"
    " and got no answer has to write again. Slack limits how much this app may read"
)

UNSTORED = (StoreError, StoreFull)
"""Errors of a disk that stores nothing."""

MISSED = "I was away when {count} written here. Should I answer now?"
CANT_READ = "I can't read the thread right now. Try again in a minute."
NOTHING = "There is nothing left to answer."
NOT_TAKEN = "I could not accept any of these messages."
ANSWERED = "I was away when {count} written here. I am answering now."
REST = "I could not read all messages from the time when I was away. Should I continue?"


@dataclass(frozen=True, slots=True)
class _MissedMessage:
    """A draft with when it was written, in seconds since the epoch."""

    draft: Draft
    at: float


class CatchUp:
    """Reads what was missed. `clock` is in seconds since the epoch."""

    def __init__(
        self,
        host: AdapterHost,
        calls: Calls,
        drafts: Drafts,
        history: History,
        fetching: AwaitedFiles,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._calls = calls
        self._drafts = drafts
        self._history = history
        self._fetching = fetching
        self._clock = clock

    async def run(self, since: float) -> None:
        """Hand in recent missed messages; offer an answer to older ones.

        Raises StoreError and StoreFull if that can't be stored: then it is still missed.
        """
        now = self._clock()
        since = max(since, now - OLDEST)
        if now - since < GAP:
            return
        missed, partly = await self._missed(since)
        LOG.info("%s messages were missed within %.0f s", len(missed), now - since)
        recent = [each.draft for each in missed if now - each.at <= RECENT]
        await self._collect(recent)
        older: dict[ConversationKey, list[Draft]] = {}
        for each in reversed(missed):
            if now - each.at > RECENT:
                older.setdefault(each.draft.key, []).append(each.draft)
        for key, drafts in list(older.items())[:MOST_CARDS]:
            await self._offer(key, drafts, whole=key not in partly)

    async def answer(self, draft: Draft, after: str) -> str:
        """Hand in the missed messages of a thread; a reply if any."""
        key = draft.key
        excerpt = await self._history.read(key, after=after)
        if excerpt is None:
            return CANT_READ
        found = await self._wanted(key.workspace, key.channel, excerpt.messages)
        if not found and excerpt.whole:
            return NOTHING
        taken = await self._collect([each.draft for each in found])
        if found and not taken:
            return NOT_TAKEN
        done = ANSWERED.format(count=_were(taken)) if taken else ""
        if excerpt.whole:
            await self._settle(draft, [_section(done)])
        else:
            text = f"{done} {REST}".strip()
            await self._settle(draft, _card(text, ts_at(excerpt.messages[-1], "ts")))
        return ""

    async def _missed(self, since: float) -> tuple[list[_MissedMessage], set[ConversationKey]]:
        """Missed messages in order, and places that were not fully read."""
        found: dict[tuple[str, str], _MissedMessage] = {}
        partly: set[ConversationKey] = set()
        for place in await self._places():
            excerpt = await self._history.read(place, after=f"{since:.6f}")
            if excerpt is None or not excerpt.whole:
                LOG.warning("what was missed in %s could not all be read", place)
                partly.add(place)
            messages = excerpt.messages if excerpt else ()
            for each in await self._wanted(place.workspace, place.channel, messages):
                found[place.channel, each.draft.message.message_id] = each
        if partly:
            self._host.remark(PLATFORM, UNREAD.format(places=len(partly)))
        missed = sorted((each for each in found.values() if each.at > since), key=lambda e: e.at)
        return missed, partly

    async def _places(self) -> list[ConversationKey]:
        """Channels, which have no root, and threads."""
        found = await self._host.conversations(PLATFORM, limit=LOOKED_AT)
        teams = {workspace.id for workspace in self._calls.clients.workspaces}
        keys = [key for key in found if key.workspace in teams]
        channels = dict.fromkeys(replace(key, root="", user="") for key in keys)
        return [*list(channels)[:CHANNELS], *keys[:THREADS]]

    async def _wanted(
        self, team: str, channel: str, said: Iterable[Payload]
    ) -> list[_MissedMessage]:
        """Those that are meant for the team and were not taken yet."""
        me = self._drafts.me(team)
        parsed = [parse_history_message(each, team, channel, me) for each in said]
        drafts = [each for each in parsed if isinstance(each, Draft)]
        keys = [key for each in drafts for key in each.message.dedupe]
        taken = await self._host.known_keys(keys)
        return [
            _MissedMessage(each, float(each.message.message_id))
            for each in drafts
            if taken.isdisjoint(each.message.dedupe) and await self._drafts.is_meant(each)
        ]

    async def _collect(self, drafts: Sequence[Draft]) -> int:
        """Hand in drafts, one message for each author and thread.

        Returns the number of drafts that were taken.
        """
        taken = 0
        for _, group in groupby(sorted(drafts, key=_thread), key=_thread_and_author):
            try:
                messages = [await self._drafts.message(each) for each in group]
                said = [each for each in messages if not self._is_command(each)]
                if said:  # a command of then is about nothing of now
                    await self._host.accept(collected(said))
                    taken += len(said)
                    await self._fetching.look()
            except UNSTORED:
                raise
            except GatewayError as error:
                LOG.warning("what was missed in a thread was not taken: %s", error)
        return taken

    def _is_command(self, message: InboundMessage) -> bool:
        return message.event == "message" and self._host.is_command(message.text)

    async def _offer(self, key: ConversationKey, drafts: Sequence[Draft], *, whole: bool) -> None:
        text = MISSED.format(count=_were(len(drafts), whole=whole))
        first = min(float(each.message.message_id) for each in drafts)
        blocks = _card(text, f"{first - 0.000001:.6f}")
        try:
            await self._calls.write(
                key.workspace,
                "chat.postMessage",
                channel=key.channel,
                thread_ts=key.root,
                text=text,
                blocks=blocks,
            )
        except GatewayError as error:
            LOG.warning("what was missed in a thread was not offered: %s", error)

    async def _settle(self, draft: Draft, blocks: list[dict[str, Any]]) -> None:
        try:
            await self._calls.write(
                draft.key.workspace,
                "chat.update",
                channel=draft.key.channel,
                ts=draft.message.message_id,
                text=blocks[0]["text"]["text"],
                blocks=blocks,
            )
        except GatewayError as error:
            LOG.info("a card keeps its button: %s", error)


def collected(messages: Sequence[InboundMessage]) -> InboundMessage:
    """Messages of one author as one, in their order."""
    return replace(
        messages[-1],
        text="\n\n".join(message.text for message in messages if message.text),
        dedupe=tuple(key for message in messages for key in message.dedupe),
        awaited=tuple(file for message in messages for file in message.awaited),
        quotes=tuple(quote for message in messages for quote in message.quotes),
    )


def _thread(draft: Draft) -> tuple[str, str]:
    return str(draft.key), draft.message.order_key


def _thread_and_author(draft: Draft) -> tuple[str, str]:
    return str(draft.key), draft.user


def _were(count: int, *, whole: bool = True) -> str:
    some = "" if whole else "at least "
    return f"{some}a message was" if count == 1 else f"{some}{count} messages were"


def _card(text: str, after: str) -> list[dict[str, Any]]:
    """A text with a button that has missed messages answered."""
    button = {
        "type": "button",
        "action_id": action_id("missed"),
        "value": after,
        "text": {"type": "plain_text", "text": "Answer now"},
    }
    return [_section(text), {"type": "actions", "elements": [button]}]


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}
