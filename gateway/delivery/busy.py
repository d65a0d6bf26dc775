"""Indicator on a platform that the team works, always taken back."""

from __future__ import annotations

import asyncio

from gateway.delivery.clock import Clock, comes_first
from gateway.surface import BusyState, BusySurface, Place, TextSurface

REFRESH = 60.0
"""Seconds after which a platform is told again that the team works."""
AT_THE_END = 2.0
"""Seconds for taking it back when a thread is let go of."""


class BusyIndicator:
    """The indicator of one thread. Raises AuthError."""

    def __init__(self, surface: TextSurface, clock: Clock) -> None:
        self._surface = surface if isinstance(surface, BusySurface) else None
        self._clock = clock
        self._place: Place | None = None
        self._shown: BusyState | None = None
        self._wanted = asyncio.Event()

    def show(self, place: Place, state: BusyState) -> None:
        """Show this from now on."""
        if state != self._shown:
            self._place, self._shown = place, state
            self._wanted.set()

    async def run(self) -> None:
        """Show it again and again while the team works."""
        while self._surface is not None:
            await self._wanted.wait()
            self._wanted.clear()
            while self._shown == "working" and self._place is not None:
                await self._surface.busy(self._place, "working")
                await comes_first(self._wanted.wait(), self._clock.sleep(REFRESH))

    async def rest(self, place: Place, state: BusyState) -> None:
        """The team has come to rest."""
        if self._surface is None or self._shown == state:
            return
        self.show(place, state)
        await self._surface.busy(place, state)

    async def end(self) -> None:
        """Take back that it works: nobody would do it later."""
        if self._surface is None or self._shown != "working" or self._place is None:
            return
        self._shown = "idle"
        try:
            async with asyncio.timeout(AT_THE_END):
                await self._surface.busy(self._place, "idle")
        except TimeoutError:
            return
