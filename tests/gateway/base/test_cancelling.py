"""Cancellation of a task, and one that it only meets."""

from __future__ import annotations

import asyncio

from gateway.base.cancelling import is_being_cancelled


async def test_a_task_is_being_cancelled_once_somebody_cancels_it() -> None:
    found: list[bool] = []

    async def work() -> None:
        try:
            raise asyncio.CancelledError  # its own doing
        except asyncio.CancelledError:
            found.append(is_being_cancelled())
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            found.append(is_being_cancelled())
            raise

    task = asyncio.get_running_loop().create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert found == [False, True]
