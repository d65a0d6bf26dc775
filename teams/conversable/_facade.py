"""Async code called from sync code: one event loop in one daemon thread."""

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
    loop = facade_loop()
    if _running_loop() is loop:
        return _in_thread_of_its_own(awaitable)
    future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def run_unsuspended(coroutine: Coroutine[Any, Any, T]) -> T:
    """The outcome of a coroutine that awaits nothing which is not ready at once."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise RuntimeError("A sync call has met code that waits on an event loop.")


def facade_loop() -> asyncio.AbstractEventLoop:
    """The loop of `run_to_end`, which runs as long as the process."""
    global _loop  # noqa: PLW0603 (one per process)
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="teams-sync-calls", daemon=True).start()
        return _loop


def _forget_loop() -> None:
    """Let a forked process make a loop of its own: threads don't go along."""
    global _lock, _loop  # noqa: PLW0603
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _in_thread_of_its_own(awaitable: Awaitable[T]) -> T:
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(asyncio.run(_awaited(awaitable)))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return future.result()
