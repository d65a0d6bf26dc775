"""Reading what was said in a conversation, within one budget of calls.

Slack lets new commercial apps read once a minute, others fifty times; which one this app is shows
when it is refused. Nothing that is read here is ever needed for an answer to be right.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.slack.calls import Calls
from adapters.slack.inbound.payload import Payload, tables_at
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.surface import RateLimited

LOG = logging.getLogger("adapters.slack")

PER_MINUTE = 20
PAGE = 15
"""Messages of one call: more are not given to apps that may read once a minute."""
MINUTE = 60.0


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
        self, key: ConversationKey, *, after: str = "", before: str = ""
    ) -> list[Payload] | None:
        """A thread's messages between two ts, in order; None if they can't be had just now."""
        return await self._read(
            key.workspace,
            "conversations.replies",
            channel=key.channel,
            ts=key.root,
            oldest=after or None,
            latest=before or None,
        )

    async def messages(self, team: str, channel: str, *, after: str) -> list[Payload] | None:
        """A channel's messages after a ts, in order; None if they can't be had just now."""
        found = await self._read(team, "conversations.history", channel=channel, oldest=after)
        return None if found is None else found[::-1]

    async def _read(self, team: str, method: str, **arguments: str | None) -> list[Payload] | None:
        if not self._may_read(team):
            return None
        try:
            answer = await self._calls.read(team, method, limit=PAGE, **arguments)
        except RateLimited as error:
            self._budgets[team].closed = self._clock() + error.retry_after
            return None
        except GatewayError as error:
            LOG.info("a conversation was not read: %s", error)
            return None
        return tables_at(answer, "messages")

    def _may_read(self, team: str) -> bool:
        budget, now = self._budgets.setdefault(team, _Budget()), self._clock()
        budget.reads = [at for at in budget.reads if now - at < MINUTE]
        if now < budget.closed or len(budget.reads) >= PER_MINUTE:
            return False
        budget.reads.append(now)
        return True
