"""Async code called from sync code, on one loop in a thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run_to_end(awaitable: Awaitable[T]) -> T:
    """The outcome of an awaitable; the calling thread waits for it.

    Everything runs on one loop, since model clients keep connections that belong to a loop. It sees
    the caller's context variables. An interrupted caller (Ctrl+C) cancels what it waits for. Called
    by code on that loop itself, it runs on a loop of its own.
    """
    # Made first: an interrupt may come at any line, also before the loop has taken the work.
    outcome: Future[T] = Future()
    try:
        loop = facade_loop()
        if asyncio._get_running_loop() is loop:
            work = (asyncio.run, _settle(awaitable, outcome))
            threading.Thread(target=copy_context().run, args=work, daemon=True).start()
        else:
            asyncio.run_coroutine_threadsafe(_settle(awaitable, outcome), loop)
        return outcome.result()
    except BaseException:
        outcome.cancel()
        raise


def run_unsuspended(coroutine: Coroutine[Any, Any, T]) -> T:
    """The outcome of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise RuntimeError("A sync call has met code that waits on an event loop.")


def facade_loop() -> asyncio.AbstractEventLoop:
    """The loop of `run_to_end`, which runs as long as the process."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="teams-sync-calls", daemon=True).start()
        return _loop


async def _settle(awaitable: Awaitable[T], outcome: Future[T]) -> None:
    """Bring the awaitable's outcome to the thread that waits for it."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    outcome.add_done_callback(
        lambda done: loop.call_soon_threadsafe(task.cancel) if done.cancelled() else None
    )
    try:
        result = await awaitable
    except BaseException as error:
        if outcome.set_running_or_notify_cancel():
            outcome.set_exception(error)
    else:
        if outcome.set_running_or_notify_cancel():
            outcome.set_result(result)


def _forget_loop() -> None:
    """Let a forked process make its own: threads don't go along."""
    global _lock, _loop
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)
