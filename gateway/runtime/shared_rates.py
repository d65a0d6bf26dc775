"""Rates of platforms, drawn from the store while several nodes live."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gateway.errors import GatewayError
from gateway.rates import DrawnTokens, RateLimit
from gateway.store.protocols import SessionStore
from gateway.store.units import rates as rate_units

LOG = logging.getLogger("gateway")

AGAIN = 1.0
"""Seconds until the store is asked again that has failed."""

T = TypeVar("T")


class SharedRates:
    """The rates of one gateway; `several` says whether there are other nodes."""

    def __init__(self, store: SessionStore, several: Callable[[], bool]) -> None:
        self.store = store
        self.several = several
        self._asking: set[asyncio.Task[Any]] = set()

    def rate(self, limit: RateLimit) -> StoredRate:
        """A rate that is kept with the other nodes."""
        return StoredRate(self, limit)

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Begin to ask the store, and own the task until its end."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        return task

    async def close(self) -> None:
        """Ask no more."""
        asking = tuple(self._asking)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


class StoredRate:
    """A SharedRate whose bucket is a row of the store."""

    def __init__(self, rates: SharedRates, limit: RateLimit) -> None:
        self._rates = rates
        self._limit = limit

    @property
    def is_shared(self) -> bool:
        """True while there are other nodes."""
        return self._rates.several()

    def draw(self, most: int, *, reserve: float = 0.0) -> asyncio.Future[DrawnTokens]:
        """Draw up to a portion; see SharedRate."""
        return self._rates.start(self._draw(most, reserve), "draws tokens of a rate")

    async def _draw(self, most: int, reserve: float) -> DrawnTokens:
        most = min(most, self._limit.portion)
        try:
            return await self._rates.store.run(rate_units.draw_tokens, self._limit, most, reserve)
        except GatewayError as error:
            LOG.warning("a rate that nodes share could not be asked: %s", error)
            return DrawnTokens(tokens=0, wait=AGAIN, level=0.0)

    def close(self, seconds: float) -> None:
        """Let no node draw for so long."""
        self._rates.start(self._close(seconds), "closes a rate")

    async def _close(self, seconds: float) -> None:
        try:
            await self._rates.store.run(rate_units.close_rate, self._limit, seconds)
        except GatewayError as error:
            LOG.warning("other nodes were not told that a platform asks to wait: %s", error)
