"""Commands that a signal ends, in order and with an exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Told to end; the terminal is gone. asyncio itself takes care of ctrl+c."""


def run_until_ended(work: Coroutine[Any, Any, int]) -> int:
    """Run a command's work; its exit code.

    SIGTERM and SIGHUP cancel it once, whoever else sends another, and it is given the time that its
    cleanup takes. The exit code is 128 and the signal's number then.
    """
    ended_by: list[int] = []

    async def main() -> int:
        loop, this = asyncio.get_running_loop(), asyncio.current_task()
        assert this is not None

        def end(number: int) -> None:
            ended_by.append(number)
            if len(ended_by) == 1:
                this.cancel()

        for number in ENDING:
            loop.add_signal_handler(number, end, number)
        return await work

    try:
        code = asyncio.run(main())
    except asyncio.CancelledError:
        if not ended_by:
            raise
        code = 0
    return 128 + ended_by[0] if ended_by else code
