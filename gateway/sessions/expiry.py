"""The times that requests to people have: one task that sleeps until the next of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gateway.errors import GatewayError

LOG = logging.getLogger("gateway")

SHORTEST, LONGEST = 0.05, 30.0
"""Seconds between two looks: clocks are set, machines sleep, and new requests come up."""


class Deadlines:
    """Calls `settle`, which does what is due and says when something is due next (in seconds, by
    `clock`), if anything ever is.
    """

    def __init__(
        self, settle: Callable[[], Awaitable[float | None]], clock: Callable[[], float]
    ) -> None:
        self._settle = settle
        self._clock = clock
        self._wanted = asyncio.Event()

    def look(self) -> None:
        """Something is due: do not wait until it was to be looked for."""
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
