"""Expiry of requests: one task that sleeps until the next."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gateway.access.authority import Operators
from gateway.client import Answer
from gateway.errors import GatewayError
from gateway.store.records import Request
from gateway.values import value

LOG = logging.getLogger("gateway")

SHORTEST, LONGEST = 0.05, 30.0
"""Seconds between two looks: clocks are set, machines sleep, and new requests come up."""


EXPIRED = "expired: no decision came in time"
EXPIRED_QUESTION = "expired: no answer came in time"
UNANSWERED = "(No answer came in time. Continue without it, or say that you can't.)"


@value
class RequestTimes:
    """Rules for requests whose time has come, with their texts."""

    operators: Operators

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        """People (Author.id) named for this request."""
        return self.operators.who_may_answer(request)

    def reminder(self, request: Request, age: float) -> str:
        """Reminder of a request open for so many seconds."""
        return f"Waiting for {_span(age)}: {request.prompt}"

    def expired(self, request: Request) -> tuple[str, Answer]:
        """Answer at expiry: a denial, or a sentence for a question."""
        if request.kind == "approval":
            return EXPIRED, Answer(kind="deny")
        return EXPIRED_QUESTION, Answer(kind="text", text=UNANSWERED)


def _span(seconds: float) -> str:
    hours = round(seconds / 3600)
    if hours < 1:
        return "less than an hour"
    return f"{hours} hours" if hours > 1 else "an hour"


class Deadlines:
    """Timer that calls `settle`, which returns the next due time, if any."""

    def __init__(
        self, settle: Callable[[], Awaitable[float | None]], clock: Callable[[], float]
    ) -> None:
        self._settle = settle
        self._clock = clock
        self._wanted = asyncio.Event()

    def look(self) -> None:
        """Look for due requests at once."""
        self._wanted.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            delay = LONGEST
            self._wanted.clear()
            try:
                if (due := await self._settle()) is not None:
                    delay = min(max(due - self._clock(), SHORTEST), LONGEST)
            except GatewayError as error:
                LOG.warning("requests whose time is over are looked at again: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._wanted.wait()
