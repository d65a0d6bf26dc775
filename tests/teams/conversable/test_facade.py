"""Async code called from sync code."""

import asyncio
import signal
import sys
import threading
from contextvars import ContextVar
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from types import FrameType
from typing import Any

import pytest

from teams.conversable import _facade
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


def fresh_facade() -> Any:
    """The module as in a process that has not called it yet."""
    spec = spec_from_file_location("fresh_facade", _facade.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def interrupt_at(number: int, facade: Any) -> int:
    """Interrupt a call at this trace event; the number of events."""
    seen, tracer = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal seen
        if frame.f_code.co_filename != _facade.__file__:
            return None
        frame.f_trace_opcodes = facade is _facade  # a signal comes between any two
        seen += 1
        if seen == number:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        facade.run_to_end(where())
    except KeyboardInterrupt:
        assert seen == number
    finally:
        sys.settrace(tracer)
    return seen


def serves(loop: asyncio.AbstractEventLoop) -> bool:
    served = threading.Event()
    loop.call_soon_threadsafe(served.set)
    return served.wait(5)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("begun", [True, False], ids=["later", "first"])
def test_an_interrupt_at_any_line_leaves_the_loop_to_others(begun: bool) -> None:
    tried = 0
    for number in count(1):
        facade = _facade if begun else fresh_facade()
        seen = interrupt_at(number, facade)
        loop = facade.facade_loop()
        assert serves(loop), number
        if not begun:
            loop.call_soon_threadsafe(loop.stop)
        if seen < number:
            break
        tried = number
    assert tried > 20


def test_a_task_that_ends_the_process_does_not_end_the_loop() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def wait() -> None:
        await asyncio.ensure_future(leave())

    with pytest.raises(SystemExit, match="3"):
        run_to_end(wait())
    assert serves(facade_loop())


def test_calls_within_calls_have_loops_of_their_own() -> None:
    async def within(depth: int) -> int:
        return depth if depth == 3 else run_to_end(within(depth + 1))

    assert run_to_end(within(0)) == 3


def test_a_task_that_ends_the_process_reaches_a_caller_on_the_loop() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def wait() -> None:
        await asyncio.ensure_future(leave())

    async def outer() -> None:
        run_to_end(wait())

    with pytest.raises(SystemExit, match="3"):
        run_to_end(outer())
