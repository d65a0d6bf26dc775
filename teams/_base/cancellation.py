"""The token with which a caller ends a run, and the one way of awaiting something under it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

logger = logging.getLogger("teams")

T = TypeVar("T")
F = TypeVar("F", bound="asyncio.Future[Any]")


class CancellationToken:
    """Cancels what is linked to it, once, from any thread.

    Finished futures and removed callbacks are forgotten, so that a token may live as long as its
    owner.
    """

    __slots__ = ("_callbacks", "_cancelled", "_futures", "_lock")

    def __init__(self) -> None:
        self._cancelled = False
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], Any]] = []
        self._futures: set[asyncio.Future[Any]] = set()

    def cancel(self) -> None:
        """Cancel the linked futures and call the callbacks; a second call does nothing.

        A callback that raises is logged and does not keep the others from being called.
        """
        with self._lock:
            if self._cancelled:
                return
            self._cancelled = True
            futures, self._futures = self._futures, set()
            callbacks, self._callbacks = self._callbacks, []
        for future in futures:
            _cancel_in_its_loop(future)
        for callback in callbacks:
            try:
                callback()
            except Exception:
                logger.exception("A cancellation callback raised.")

    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def add_callback(self, callback: Callable[[], Any]) -> None:
        """Call `callback` when the token is cancelled, or at once where it already is."""
        with self._lock:
            if not self._cancelled:
                self._callbacks.append(callback)
                return
        callback()

    def remove_callback(self, callback: Callable[[], Any]) -> None:
        """Forget `callback`, which may already have been called or never have been added."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def link_future(self, future: F) -> F:
        """Cancel `future` (a task, too) when the token is cancelled, and hand it back."""
        with self._lock:
            linked = not self._cancelled and not future.done()
            if linked:
                self._futures.add(future)
        if linked:
            future.add_done_callback(self._forget)
        elif not future.done():
            _cancel_in_its_loop(future)
        return future

    def _forget(self, future: asyncio.Future[Any]) -> None:
        with self._lock:
            self._futures.discard(future)


async def cancellable(
    coroutine: Coroutine[Any, Any, T], cancellation_token: CancellationToken | None
) -> T:
    """The coroutine's result; cancelling the token (or the caller) cancels the coroutine."""
    if cancellation_token is None:
        return await coroutine
    # A task of its own, awaited right here: the token cancels it and nothing of the caller's, whose
    # own count of cancellation requests stays true.
    task = asyncio.get_running_loop().create_task(coroutine)
    return await cancellation_token.link_future(task)


def _cancel_in_its_loop(future: asyncio.Future[Any]) -> None:
    loop = future.get_loop()
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        future.cancel()
    elif not loop.is_closed():
        loop.call_soon_threadsafe(future.cancel)
