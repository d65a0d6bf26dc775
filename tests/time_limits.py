"""Time limits that end every run: in the loop, per test, overall.

An async test runs in a task of its own; a supervisor on the same loop cancels it at its limit and
fails it even if it swallows the cancellation. A test that blocks its thread is ended together with
its process, by a timer of the interpreter that needs no Python code to run. A watchdog ends a run
that lasts too long. Each of them prints every stack, and each limit grows with the machine's load.
"""

import asyncio
import faulthandler
import functools
import inspect
import io
import os
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest

DEFAULT = 10.0
"""Seconds for a test without the marker `timeout`."""
RUN = 1800.0
"""Seconds for a whole run, unless `-o run_timeout=SECONDS` says otherwise."""
WORKERS_FIRST = 2.0
"""Seconds that workers have to write their stacks before the run's first process ends."""
UNTIL = "TESTS_RUN_UNTIL"
"""Variable with the end of the whole run for its workers: a time of the monotonic clock."""
BLOCKED = 3
"""Its process is ended when a test lasts longer than this many times its limit."""
GRACE = 20.0
"""Seconds added to that, for set-up and clean-up."""
CANCELLATIONS = 3
"""Number of cancellations for a test that swallows them."""
CLEAN_UP = 1.0
"""Seconds for its clean-up after each of them."""
EXPECTED = 0.015
"""Seconds of `_work` on an idle machine."""
SLOWEST = 10.0

Test = Callable[..., Coroutine[Any, Any, None]]


def register(config: pytest.Config) -> None:
    """Apply the limits to this process's part of a run."""
    stderr = os.dup(2)  # before a test's output is captured
    config.addinivalue_line("markers", "timeout(seconds): how long this test may last")
    if hasattr(config, "workerinput"):
        until = float(os.environ[UNTIL])
    else:
        until = time.monotonic() + float(config.getini("run_timeout") or RUN)
        os.environ[UNTIL] = str(until)
        until += WORKERS_FIRST
    config.pluginmanager.register(TimeLimits(stderr), "parley-time-limits")
    config.pluginmanager.register(RunWatchdog(stderr, until), "parley-run-watchdog")


def slowness() -> float:
    """Slowness against an idle machine, as a factor of at least 1."""
    return min(max(1.0, *(_work() / EXPECTED for _ in range(3))), SLOWEST)


def _work() -> float:
    began, total = time.perf_counter(), 0
    for number in range(300_000):
        total += number
    return time.perf_counter() - began


class TimeLimits:
    """Gives each test of this process its limit."""

    def __init__(self, stderr: int) -> None:
        self._stderr = stderr
        self._slowness = slowness()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put async tests under a supervisor."""
        for item in items:
            if not isinstance(item, pytest.Function):
                continue
            if inspect.iscoroutinefunction(item.obj):
                item.obj = self._supervised(item.obj, limit_of(item))
            elif inner := _inner_of_hypothesis(item.obj):
                item.obj.hypothesis.inner_test = self._supervised(inner, limit_of(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """End the process of a test that nothing in it can end."""
        seconds = limit_of(item) * BLOCKED * self._slowness + GRACE
        faulthandler.dump_traceback_later(seconds, file=self._stderr, exit=True)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _supervised(self, test: Test, limit: float) -> Test:
        @functools.wraps(test)
        async def supervised(*args: Any, **kwargs: Any) -> None:
            await self._supervise(test(*args, **kwargs), limit)

        return supervised

    async def _supervise(self, test: Coroutine[Any, Any, None], limit: float) -> None:
        __tracebackhide__ = True
        task = asyncio.get_running_loop().create_task(test)
        try:
            await asyncio.wait({task}, timeout=limit * self._slowness)
            if not task.done() and (now := slowness()) > self._slowness:
                extra, self._slowness = limit * (now - self._slowness), now
                await asyncio.wait({task}, timeout=extra)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            stacks = stacks_of_tasks(task)
            await _cancel(task)
            pytest.fail(f"lasted longer than {limit:g} s\n{stacks}", pytrace=False)
        await task


async def _cancel(task: asyncio.Task[None]) -> None:
    for _ in range(CANCELLATIONS):
        task.cancel()
        await asyncio.wait({task}, timeout=CLEAN_UP)
        if task.done():
            return
    asyncio._unregister_task(task)  # else the loop's end waits for it, too


def _inner_of_hypothesis(test: Any) -> Test | None:
    inner = getattr(getattr(test, "hypothesis", None), "inner_test", None)
    return inner if inspect.iscoroutinefunction(inner) else None


def limit_of(item: pytest.Item) -> float:
    """Seconds that a test may last on an idle machine."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else DEFAULT


def stacks_of_tasks(first: asyncio.Task[None]) -> str:
    """The stacks of all tasks of the running loop, this one's first."""
    out = io.StringIO()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in sorted(tasks, key=lambda each: each is not first):
        task.print_stack(file=out)
    return out.getvalue()


class RunWatchdog:
    """Ends a process of a run that lasts too long.

    It prints its stacks; workers go first.
    """

    def __init__(self, stderr: int, until: float) -> None:
        self._stderr = stderr
        self._until = until
        self._over = threading.Event()

    def pytest_sessionstart(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._watch, name="run watchdog", daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        """Let the run end by itself."""
        self._over.set()

    def _watch(self) -> None:
        if self._over.wait(max(0.0, self._until - time.monotonic())):
            return
        os.write(self._stderr, b"\nThe run lasts too long. The stacks of one of its processes:\n")
        faulthandler.dump_traceback(file=self._stderr, all_threads=True)
        os._exit(pytest.ExitCode.INTERNAL_ERROR)
