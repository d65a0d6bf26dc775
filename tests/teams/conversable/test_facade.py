"""Async code called from sync code."""

import asyncio
import signal
import threading
from contextvars import ContextVar

import pytest

from teams.conversable._facade import facade_loop, run_to_end, run_unsuspended

ASKED: ContextVar[str] = ContextVar("asked")


async def where() -> tuple[asyncio.AbstractEventLoop, str]:
    await asyncio.sleep(0)
    return asyncio.get_running_loop(), ASKED.get("nobody")


def test_every_call_runs_on_one_loop_and_sees_the_callers_context() -> None:
    ASKED.set("al")
    assert run_to_end(where()) == run_to_end(where()) == (facade_loop(), "al")


def test_an_exception_reaches_the_caller() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        run_to_end(fail())


async def test_it_works_inside_of_a_running_loop() -> None:
    loop, _ = run_to_end(where())
    assert loop is not asyncio.get_running_loop()


def test_code_on_its_loop_may_call_it_again() -> None:
    async def outer() -> tuple[asyncio.AbstractEventLoop, str]:
        return run_to_end(where())

    ASKED.set("bo")
    loop, asked = run_to_end(outer())
    assert loop is not facade_loop()
    assert asked == "bo"


def test_it_takes_any_awaitable() -> None:
    class Five:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return 5

    assert run_to_end(Five()) == 5


def test_an_interrupted_caller_cancels_what_it_waits_for() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    def interrupt() -> None:
        begun.wait(5)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_to_end(wait())
    assert ended.wait(5)


def test_a_coroutine_that_never_waits_needs_no_loop() -> None:
    async def five() -> int:
        return 5

    assert run_unsuspended(five()) == 5


def test_a_coroutine_that_waits_is_refused() -> None:
    with pytest.raises(RuntimeError, match="waits on an event loop"):
        run_unsuspended(where())
