"""Cancellation of the running task, told from one inside of it."""

import asyncio


def is_being_cancelled() -> bool:
    """True if somebody cancels the current task, not code inside of it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
