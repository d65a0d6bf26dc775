"""The pace of redrawing, adapted to the machine's speed."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

SHORTEST = 0.08
LONGEST = 0.5


def pause_after(cpu: float) -> float:
    """Seconds to wait after a redraw: drawing takes a quarter at most."""
    return min(LONGEST, max(SHORTEST, 3 * cpu))


class Pace:
    """Calls `draw` after changes, with a pause after each call.

    `draw` returns when what it drew is painted, so that its cost is known.
    """

    def __init__(self, draw: Callable[[], Awaitable[None]]) -> None:
        self._draw = draw
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()

    def changed(self) -> None:
        """Something is to be drawn, soon."""
        self._changed.set()

    def changed_by_reader(self) -> None:
        """Redraw at once for a person who waits."""
        self._changed.set()
        self._urgent.set()

    async def run(self) -> None:
        """Draw until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            started = time.thread_time()
            await self._draw()
            await self._pause(pause_after(time.thread_time() - started))

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._urgent.wait()
        self._urgent.clear()
