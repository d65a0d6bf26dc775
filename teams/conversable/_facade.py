"""Async code called from sync code, on one loop in a worker."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Generic, TypeVar

from teams.conversable._protocols import Work

T = TypeVar("T")

_loops: list[asyncio.AbstractEventLoop] = []
"""The first one serves all; another is one that two workers made at once."""
_BESIDE: ContextVar[bool] = ContextVar("teams_blocks_facade_loop", default=False)


def run_to_end(awaitable: Awaitable[T]) -> T:
    """The outcome of an awaitable; the calling worker waits for it.

    Everything runs on one loop, since model clients keep connections that belong to a loop. It sees
    the caller's context variables. An interrupted caller (Ctrl+C) cancels what it waits for. Called
    by code on that loop itself, it runs on a loop of its own.
    """
    loop = facade_loop()
    if _is_blocked(loop):
        return _run_beside(awaitable)
    call = _Call(awaitable)
    try:
        # An interrupt may come at any line: no lock is held, and the loop begins before it cancels.
        loop.call_soon_threadsafe(call.begin)
        task = call.ended.get()
        return task.result()
    except BaseException:
        loop.call_soon_threadsafe(call.cancel)
        raise


def run_unsuspended(coroutine: Work[T]) -> T:
    """The outcome of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise RuntimeError("A sync call has met code that waits on an event loop.")


def facade_loop() -> asyncio.AbstractEventLoop:
    """The loop of `run_to_end`, which runs as long as the process."""
    if not _loops:
        made: SimpleQueue[asyncio.AbstractEventLoop] = SimpleQueue()
        threading.Thread(target=_serve, args=(made,), name="teams-sync-calls", daemon=True).start()
        _loops.append(made.get())
    return _loops[0]


def _serve(made: SimpleQueue[asyncio.AbstractEventLoop]) -> None:
    loop = asyncio.new_event_loop()
    made.put(loop)
    while not loop.is_closed():
        with suppress(SystemExit, KeyboardInterrupt):  # of a task, for whoever waits for it
            loop.run_forever()
            loop.close()


class _Call(Generic[T]):
    """An awaitable that a loop takes from another worker."""

    def __init__(self, awaitable: Awaitable[T]) -> None:
        self._awaitable = awaitable
        self._task: asyncio.Task[T] | None = None
        self.ended: SimpleQueue[asyncio.Task[T]] = SimpleQueue()

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(_outcome(self._awaitable))
        self._task.add_done_callback(self.ended.put)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _is_blocked(loop: asyncio.AbstractEventLoop) -> bool:
    return asyncio._get_running_loop() is loop or _BESIDE.get()


def _run_beside(awaitable: Awaitable[T]) -> T:
    """The outcome from another loop, since ours waits for the caller."""
    outcome: Future[T] = Future()

    def work() -> None:
        _BESIDE.set(True)
        try:
            outcome.set_result(asyncio.run(_outcome(awaitable)))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return outcome.result()


async def _outcome(awaitable: Awaitable[T]) -> T:
    return await awaitable


if hasattr(os, "register_at_fork"):  # workers don't go along into a forked process
    os.register_at_fork(after_in_child=_loops.clear)
