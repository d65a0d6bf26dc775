"""Word to people about a model that says nothing for long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic

from gateway.errors import GatewayError
from gateway.events import ModelSilent
from gateway.sessions.turn_writer import TurnWriter

LOG = logging.getLogger("gateway")

LOOK = 1.0
"""Seconds between two looks."""
STEPS = (30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
"""Seconds of silence after which people are told how long it lasts."""


class Silence:
    """The silence of a turn's models."""

    def __init__(self, log: TurnWriter) -> None:
        self._log = log
        self._heard = monotonic()
        self._told = 0.0

    def hear(self) -> None:
        """A model has said something."""
        self._heard = monotonic()

    @contextmanager
    def watched(self, name: str) -> Generator[None]:
        """Tell of silences, and of their ends, during the context.

        Most turns are over before the first look, and need no task.
        """
        begun = list[asyncio.Task[None]]()
        loop = asyncio.get_running_loop()
        first = loop.call_later(
            LOOK, lambda: begun.append(loop.create_task(self._watch(), name=name))
        )
        try:
            yield
        finally:
            first.cancel()
            for task in begun:
                task.cancel()

    async def _watch(self) -> None:
        try:
            while True:
                await self._look()
                await asyncio.sleep(LOOK)
        except GatewayError as error:  # the turn's own next write meets it, too
            LOG.debug("a model's silence is told no more: %s", error)

    async def _look(self) -> None:
        asked = self._log.meter.asked_at
        silent = 0.0 if asked is None else monotonic() - max(asked, self._heard)
        if silent < self._told:
            over, self._told = self._told, 0.0
            await self._tell(over, over=True)
        elif due := max((step for step in STEPS if self._told < step <= silent), default=0.0):
            self._told = due
            await self._tell(due)

    async def _tell(self, seconds: float, *, over: bool = False) -> None:
        event = ModelSilent(
            thread=self._log.thread, turn=self._log.turn, seconds=seconds, over=over
        )
        await self._log.tell(event)
