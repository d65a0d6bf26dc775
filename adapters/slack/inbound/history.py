"""Reading what was said in a conversation, within one budget of calls.

Slack lets new commercial apps read once a minute, others fifty times; which one this app is shows
when it is refused. Nothing that is read here is ever needed for an answer to be right.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.slack.calls import Calls
from adapters.slack.inbound.payload import Payload, tables_at, text_at, ts_at
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.surface import RateLimited

LOG = logging.getLogger("adapters.slack")

PER_MINUTE = 20
PAGE = 200
"""Messages of one call; Slack gives 15 at most to apps that may read once a minute."""
MOST_PAGES = 5
"""Of one conversation: the others are to be read in the same minute."""
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Said:
    """Messages in their order, each once. Unless `whole`, there are others that could not be read:
    later ones of a thread, earlier ones of a channel.
    """

    messages: tuple[Payload, ...]
    whole: bool


@dataclass(slots=True)
class _Budget:
    reads: list[float] = field(default_factory=list[float])
    closed: float = 0.0


class History:
    """Reads conversations while there is budget. `clock` is in seconds and never goes back."""

    def __init__(self, calls: Calls, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._calls = calls
        self._clock = clock
        self._budgets: dict[str, _Budget] = {}

    async def replies(
        self,
        key: ConversationKey,
        *,
        after: str = "",
        before: str = "",
        seconds: float | None = None,
    ) -> Said | None:
        """A thread's messages between two ts, as many as can be had in some seconds; None if that
        is none.
        """
        return await self._read(
            key.workspace,
            "conversations.replies",
            seconds,
            channel=key.channel,
            ts=key.root,
            oldest=after or None,
            latest=before or None,
        )

    async def messages(self, team: str, channel: str, *, after: str) -> Said | None:
        """A channel's messages after a ts; None if they can't be had just now."""
        found = await self._read(team, "conversations.history", None, channel=channel, oldest=after)
        return None if found is None else Said(found.messages[::-1], found.whole)

    async def _read(
        self, team: str, method: str, seconds: float | None, **arguments: str | None
    ) -> Said | None:
        """The pages in Slack's order."""
        found: dict[str, Payload] = {}  # each page of a thread may begin with its root
        cursor: str | None = None
        pages = 0
        try:
            async with asyncio.timeout(seconds):
                while pages < MOST_PAGES and (pages == 0 or cursor):
                    answer = await self._page(team, method, cursor=cursor, **arguments)
                    if answer is None:
                        break
                    for each in tables_at(answer, "messages"):
                        found.setdefault(ts_at(each, "ts"), each)
                    cursor = text_at(answer, "response_metadata", "next_cursor")
                    pages += 1
        except TimeoutError:
            LOG.info("a conversation was not read to its end in time")
        return Said(tuple(found.values()), whole=not cursor) if pages else None

    async def _page(self, team: str, method: str, **arguments: str | None) -> Payload | None:
        if not self._may_read(team):
            return None
        try:
            return await self._calls.read(team, method, limit=PAGE, **arguments)
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
