"""A signal ends a command in order, with its exit code."""

import asyncio
import os
import signal
from contextlib import suppress

import pytest

from gateway.base.ending import run_until_ended


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_work_once_and_its_cleanup_is_awaited(number):
    done: list[str] = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), signal.SIGHUP)  # shell and system may both say so
            for step in ("one", "two"):
                await asyncio.sleep(0.01)
                done.append(step)
        return 0

    assert run_until_ended(work()) == 128 + number
    assert done == ["one", "two"]


def test_work_that_ends_as_the_signal_comes_was_ended_by_it():
    async def work() -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        with suppress(asyncio.CancelledError):  # its input has ended, too
            await asyncio.sleep(1)
        return 0

    assert run_until_ended(work()) == 128 + signal.SIGHUP


def test_work_that_ends_by_itself_says_how():
    async def work() -> int:
        return 3

    async def cancelled() -> int:
        raise asyncio.CancelledError

    assert run_until_ended(work()) == 3
    with pytest.raises(asyncio.CancelledError):
        run_until_ended(cancelled())
