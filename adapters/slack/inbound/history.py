"""Reading a thread while somebody waits.

Nothing that is read here is ever needed for an answer to be right.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adapters.slack.connection.payload import Payload, number_at, tables_at, text_at, ts_at
from adapters.slack.connection.rate_limits import REPLIES
from adapters.slack.inbound.parsed import Draft
from adapters.slack.inbound.read_rates import PAGE, ReadRates
from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import GatewayError
from gateway.visible import Pointed, VisibleContent

Quoted: TypeAlias = tuple[Pointed, VisibleContent]

LOG = logging.getLogger("adapters.slack")

MOST_PAGES = 5
"""Pages of one conversation: others are read in the same minute."""
ENOUGH = 50
"""Newest messages of a long thread that are worth another page."""
QUOTE_SECONDS = 1.0
"""Seconds for reading a thread that began without the team."""
MOST_EARLIER = 50
"""Messages of it that the team is given: the thread's first, and the newest."""

LEFT_OUT = "({count} messages after this one are left out.)"
UNREAD = "({which} messages in the thread could not be read.)"


@dataclass(frozen=True, slots=True)
class HistoryExcerpt:
    """Messages in their order, each once.

    Unless `whole`, later ones could not be read. `between`: about so many are left out behind a
    thread's first.
    """

    messages: tuple[Payload, ...]
    whole: bool
    between: int = 0


class _Pages:
    """The pages of one reading, in Slack's order.

    Each page of a thread may begin with its root.
    """

    def __init__(self, ask: Callable[[str], Awaitable[Payload | None]]) -> None:
        self._ask = ask
        self._pages = 0
        self.found: dict[str, Payload] = {}
        self.cursor = ""

    async def next(self) -> bool:
        """Read one more; False if it can't be had."""
        if (answer := await self._ask(self.cursor)) is None:
            return False
        for each in tables_at(answer, "messages"):
            self.found.setdefault(ts_at(each, "ts"), each)
        self.cursor = text_at(answer, "response_metadata", "next_cursor")
        self._pages += 1
        return True

    async def read(self) -> None:
        """Read as far as there is something, within bounds."""
        while self._pages < MOST_PAGES and (self._pages == 0 or self.cursor):
            if not await self.next():
                break

    def excerpt(self) -> HistoryExcerpt | None:
        """The messages that were read; None if there was no page."""
        if not self._pages:
            return None
        return HistoryExcerpt(tuple(self.found.values()), whole=not self.cursor)

    @property
    def root(self) -> Payload:
        """A thread's first message."""
        return next(iter(self.found.values()), {})

    @property
    def replies(self) -> tuple[Payload, ...]:
        """A thread's other messages."""
        return tuple(self.found.values())[1:]

    @property
    def total(self) -> int:
        """Number of replies in a thread."""
        return number_at(self.root, "reply_count")

    @property
    def left(self) -> int:
        """Number of replies that were not read, at least one."""
        return max(1, self.total - len(self.replies))

    @property
    def end(self) -> float:
        """The time of the last message."""
        return float(next(reversed(self.found), "0"))

    def needs_more_than(self, pages: int) -> bool:
        """True if a thread has more than so many pages."""
        return bool(self.cursor) and self.total > pages * len(self.found)


class History:
    """Reads threads, as far as there are calls left."""

    def __init__(self, rates: ReadRates) -> None:
        self.rates = rates

    async def read(self, key: ConversationKey, *, after: str) -> HistoryExcerpt | None:
        """Read the messages of a thread after `after`.

        None if they can't be read now.
        """
        pages = self._replies(key, oldest=after)
        await pages.read()
        return pages.excerpt()

    async def before(self, message: InboundMessage) -> HistoryExcerpt | None:
        """Read a thread's first messages and those just before a message.

        As much as can be read within a short time; None for nothing.
        """
        pages = self._replies(message.key, latest=message.message_id)
        try:
            async with asyncio.timeout(QUOTE_SECONDS):
                if await pages.next() and pages.needs_more_than(MOST_PAGES):
                    return await self._latest(message.key, pages, message.message_id)
                await pages.read()
        except TimeoutError:
            LOG.info("a conversation was not read to its end in time")
        return pages.excerpt()

    async def _latest(
        self, key: ConversationKey, first: _Pages, before: str
    ) -> HistoryExcerpt | None:
        """Read the first message and the newest of a long thread.

        Slack tells a thread from its beginning. So it is looked for the time since when as many
        were written as a page holds: guessed, and guessed again by what was found.
        """
        end, start = float(before), first.end
        span = (end - start) * min(1.0, ENOUGH / first.left)
        newest: _Pages | None = None
        for _ in range(MOST_PAGES - 1):
            window = self._replies(key, oldest=f"{end - span:.6f}", latest=before)
            if not await window.next():
                break
            if window.cursor:  # too many: those after what was read
                span = (end - window.end) / 2
                continue
            newest = window
            if len(window.found) > ENOUGH or end - span <= start:
                break
            span = min(span * 4, end - start)
        if newest is None:
            return first.excerpt()
        messages = (first.root, *newest.replies)
        return HistoryExcerpt(
            messages, whole=True, between=max(0, first.total - len(newest.replies))
        )

    def _replies(self, key: ConversationKey, **bounds: str) -> _Pages:
        async def ask(cursor: str) -> Payload | None:
            where = {"channel": key.channel, "ts": key.root, "cursor": cursor or None}
            try:
                return await self.rates.read(key.workspace, REPLIES, limit=PAGE, **where, **bounds)
            except GatewayError as error:
                LOG.info("a conversation was not read: %s", error)
                return None

        return _Pages(ask)


def quotes_of(excerpt: HistoryExcerpt | None, said: Sequence[Draft]) -> tuple[Quoted, ...]:
    """Quotes of what was said in an excerpt.

    A thread's first message, and the newest of the rest; a remark counts those between.
    """
    if excerpt is None:
        return (_remark(UNREAD.format(which="Earlier")),)
    found: list[Quoted] = [
        ("root" if not each.in_thread else "history", each.content) for each in said
    ]
    left = max(0, len(found) - MOST_EARLIER)
    if left + excerpt.between:
        count = f"About {left + excerpt.between}" if excerpt.between else str(left)
        found[1 : left + 1] = [_remark(LEFT_OUT.format(count=count))]
    unread = () if excerpt.whole else (_remark(UNREAD.format(which="Later")),)
    return (*found, *unread)


def _remark(text: str) -> Quoted:
    return "history", VisibleContent(text=text)
