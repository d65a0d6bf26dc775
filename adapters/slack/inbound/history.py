"""Reading what was said in a conversation, within one budget of calls.

Slack lets new commercial apps read once a minute, others fifty times; which one this app is shows
when it is refused. Nothing that is read here is ever needed for an answer to be right.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from adapters.slack.connection.payload import Payload, number_at, tables_at, text_at, ts_at
from adapters.slack.connection.web_api import Calls
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.surface import RateLimited

LOG = logging.getLogger("adapters.slack")

PER_MINUTE = 20
PAGE = 200
"""Messages of one call; Slack gives 15 at most to apps that may read once a minute."""
MOST_PAGES = 5
"""Pages of one conversation: others are read in the same minute."""
ENOUGH = 50
"""Newest messages of a long thread that are worth another page."""
MINUTE = 60.0
HISTORY, REPLIES = "conversations.history", "conversations.replies"


@dataclass(frozen=True, slots=True)
class HistoryExcerpt:
    """Messages in their order, each once.

    Unless `whole`, others could not be read: later ones of a thread, earlier ones of a channel.
    `between`: about so many are left out behind a thread's first.
    """

    messages: tuple[Payload, ...]
    whole: bool
    between: int = 0


@dataclass(slots=True)
class _Budget:
    reads: list[float] = field(default_factory=list[float])
    closed: float = 0.0


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
    """Reads conversations within a budget of calls.

    `clock` is in seconds and never goes back.
    """

    def __init__(self, calls: Calls, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._calls = calls
        self._clock = clock
        self._budgets: dict[str, _Budget] = {}

    async def read(self, place: ConversationKey, *, after: str) -> HistoryExcerpt | None:
        """Read the messages of a thread or channel after `after`.

        None if they can't be read now. A key without a root means its channel.
        """
        pages = self._replies(place, oldest=after) if place.root else self._channel(place, after)
        await pages.read()
        found = pages.excerpt()
        if found is None or place.root:
            return found
        return HistoryExcerpt(found.messages[::-1], found.whole)

    async def earlier(
        self, key: ConversationKey, *, before: str, seconds: float
    ) -> HistoryExcerpt | None:
        """Read a thread's first messages and those just before `before`.

        As much as can be read in so many seconds; None for nothing.
        """
        pages = self._replies(key, latest=before)
        try:
            async with asyncio.timeout(seconds):
                if await pages.next() and pages.needs_more_than(MOST_PAGES):
                    return await self._latest(key, pages, before)
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

    def _channel(self, place: ConversationKey, after: str) -> _Pages:
        """The newest first."""
        arguments = {"channel": place.channel, "oldest": after}
        return _Pages(lambda cursor: self._page(place.workspace, HISTORY, cursor, arguments))

    def _replies(self, key: ConversationKey, **bounds: str) -> _Pages:
        arguments = {"channel": key.channel, "ts": key.root, **bounds}
        return _Pages(lambda cursor: self._page(key.workspace, REPLIES, cursor, arguments))

    async def _page(
        self, team: str, method: str, cursor: str, arguments: Mapping[str, str]
    ) -> Payload | None:
        if not self._may_read(team):
            return None
        try:
            return await self._calls.read(
                team, method, limit=PAGE, cursor=cursor or None, **arguments
            )
        except RateLimited as error:
            self._budgets[team].closed = self._clock() + error.retry_after
        except GatewayError as error:
            LOG.info("a conversation was not read: %s", error)
        return None

    def _may_read(self, team: str) -> bool:
        budget, now = self._budgets.setdefault(team, _Budget()), self._clock()
        budget.reads = [at for at in budget.reads if now - at < MINUTE]
        if now < budget.closed or len(budget.reads) >= PER_MINUTE:
            return False
        budget.reads.append(now)
        return True
