"""Waiting for whichever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def comes_first(this: Coroutine[Any, Any, Any], other: Coroutine[Any, Any, Any]) -> bool:
    """Wait for either, and end the other one; whether `this` has come. Raises what they raise."""
    async with asyncio.TaskGroup() as group:
        first = group.create_task(this)
        second = group.create_task(other)
        await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
        came = first.done()
        first.cancel()
        second.cancel()
    return came
