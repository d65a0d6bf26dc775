"""Housekeeping: releases idle teams and expired threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gateway.errors import GatewayError

LOG = logging.getLogger("gateway")

EVERY = 60.0
"""Seconds between two rounds."""


class Housekeeping:
    """Loop that calls `tidy` once a minute.

    A round that fails is left to the next one.
    """

    def __init__(self, tidy: Callable[[], Awaitable[None]], *, every: float = EVERY) -> None:
        self._tidy = tidy
        self._every = every

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                await self._tidy()
            except GatewayError as error:
                LOG.warning("tidying up failed, and is tried again: %s", error)
            except Exception:  # the turns must not end with it
                LOG.exception("tidying up failed, and is tried again")
            await asyncio.sleep(self._every)
