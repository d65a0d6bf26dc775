"""Clocks and waits of deliveries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, Protocol


class Clock(Protocol):
    """Seconds since the epoch."""

    def time(self) -> float:
        """Now."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's."""

    def time(self) -> float:
        """Now."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


async def comes_first(this: Coroutine[Any, Any, Any], other: Coroutine[Any, Any, Any]) -> bool:
    """Wait for either and end the other; True if `this` came.

    Raises what they raise.
    """
    async with asyncio.TaskGroup() as group:
        first = group.create_task(this)
        second = group.create_task(other)
        await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
        came = first.done()
        first.cancel()
        second.cancel()
    return came
