"""The cancellation token of a run, and the stream that it cancels."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

logger = logging.getLogger("teams")

T = TypeVar("T")
F = TypeVar("F", bound="asyncio.Future[Any]")

INSISTENCE = 0.95
"""Seconds until a pull that has not ended is cancelled again; what the engine waits for itself has
given up by then.
"""

LOOK_SECONDS = 0.2
"""Seconds between two looks at whether a consumer's task was cancelled."""


class CancellationToken:
    """Cancels what is linked to it, once, from any worker.

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
        """Cancel the linked futures and call the callbacks, only once.

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
        """True after `cancel` was called."""
        return self._cancelled

    def add_callback(self, callback: Callable[[], Any]) -> None:
        """Call `callback` on cancellation, or at once if that has happened."""
        with self._lock:
            if not self._cancelled:
                self._callbacks.append(callback)
                return
        callback()

    def remove_callback(self, callback: Callable[[], Any]) -> None:
        """Forget `callback`, even if it was called or never added."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def link_future(self, future: F) -> F:
        """Cancel `future` (or a task) with the token, and return it."""
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


async def run_cancellable(
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


class CancellableStream(AsyncGenerator[T, None], Generic[T]):
    """An async generator around another one.

    Cancelling the token while the consumer waits for an item cancels just that wait, again and
    again until it ends, for somebody's code may catch a CancelledError and go on; while the
    consumer holds an item, its next pull ends the run. Either way the consumer sees CancelledError,
    after `cancelled` has put things in order; so it does when its own task is cancelled in a pull,
    which is repeated in the same way where a stream `insists`.
    A token that was cancelled before the first pull leaves everything as it is, and one that is
    cancelled after an item of the type `last_item` has nothing to cancel.

    `opening` runs before the first pull. `dropped` is called when the stream is dropped without
    closing (a plain `break`): the event loop then closes the inner generator a little later.
    """

    last_item: ClassVar[type | None] = None
    insists: ClassVar[bool] = False

    def __init__(
        self,
        inner: AsyncGenerator[T, None],
        token: CancellationToken | None,
        cancelled: Callable[[], Awaitable[None]],
        *,
        opening: Callable[[], Awaitable[None]] | None = None,
        dropped: Callable[[], None] | None = None,
    ) -> None:
        self._inner = inner
        self._token = token
        self._cancelled = cancelled
        self._opening = opening
        self._dropped = dropped
        self._state: Literal["new", "open", "over"] = "new"
        self._pull: _Pull | None = None

    def __aiter__(self) -> CancellableStream[T]:
        return self

    async def __anext__(self) -> T:
        if self._state != "open":
            await self._open()
        pull = self._pull
        try:
            if pull is None:
                item = await self._inner.__anext__()
            elif self._token is not None:
                item = await self._pull_watched(self._token, pull)
            else:  # written out: many runs have no token, and a streamed item costs little else
                pull.task = task = cast("asyncio.Task[Any]", asyncio.current_task())
                pull.before = task.cancelling()
                item = await self._inner.__anext__()
                if task.cancelling() > pull.before:
                    item = await self._end_pull(pull)
                pull.task = None
        except asyncio.CancelledError:
            await self._withdraw(pull)
            await self._give_up()
            raise
        except BaseException:
            await self._withdraw(pull)
            self._end()
            raise
        if type(item) is self.last_item:
            self._unwatch()
        return item

    async def asend(self, value: None) -> T:
        return await self.__anext__()

    async def athrow(self, typ: Any, val: Any = None, tb: Any = None) -> T:
        try:
            if val is None and tb is None:  # Python 3.12 warns of more than one argument
                return await self._inner.athrow(typ)
            return await self._inner.athrow(typ, val, tb)
        except asyncio.CancelledError:
            await self._give_up()
            raise
        except BaseException:
            self._end()
            raise

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._end()

    def __del__(self) -> None:
        dropped = self._state == "open"
        self._end()
        if dropped and self._dropped is not None:
            self._dropped()

    async def _open(self) -> None:
        if self._state == "over":
            raise StopAsyncIteration
        self._state = "over"
        if self._token is not None and self._token.is_cancelled():
            raise asyncio.CancelledError
        if self._opening is not None:
            await self._opening()
        self._state = "open"
        if self._token is None and not self.insists:
            return
        self._pull = _Pull(asyncio.get_running_loop())
        if self._token is not None:
            self._token.add_callback(self._pull.token_cancelled)
        if self.insists:
            self._pull.watch()

    async def _pull_watched(self, token: CancellationToken, pull: _Pull) -> T:
        if token.is_cancelled():
            return await self._inner.athrow(asyncio.CancelledError())
        pull.task = task = cast("asyncio.Task[Any]", asyncio.current_task())
        pull.before = task.cancelling()
        item = await self._inner.__anext__()
        if pull.asked or (self.insists and task.cancelling() > pull.before):
            item = await self._end_pull(pull)
        pull.task = None
        return item

    async def _end_pull(self, pull: _Pull) -> T:
        """End a run whose code has swallowed a cancellation."""
        if pull.asked:
            await self._withdraw(pull)
        else:
            with suppress(asyncio.CancelledError):  # if it was not delivered yet, it is now
                await asyncio.sleep(0)
        return await self._inner.athrow(asyncio.CancelledError())

    async def _withdraw(self, pull: _Pull | None) -> None:
        """Take back what was asked of the waiting task."""
        if pull is not None:
            task, pull.task = pull.task, None
            if pull.asked:
                await pull.withdraw(task)

    async def _give_up(self) -> None:
        opened = self._state == "open"
        self._end()
        if opened:
            await self._cancelled()

    def _end(self) -> None:
        self._state = "over"
        self._unwatch()

    def _unwatch(self) -> None:
        if self._pull is not None:
            self._pull.unwatch()
            if self._token is not None:
                self._token.remove_callback(self._pull.token_cancelled)
        self._token = None


class _Pull:
    """A consumer's wait for an item, which the token cancels.

    It is separate from the stream, which the token must not keep alive after its consumer has
    dropped it.
    """

    __slots__ = ("_insisting", "_loop", "_noticed", "_watching", "asked", "before", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._insisting: asyncio.TimerHandle | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._noticed: float | None = None
        """When the wait was first found to be cancelled by others."""
        self.task: asyncio.Task[Any] | None = None
        """The task that waits, while one does."""
        self.before = 0
        """Number of its cancellations when it began to wait."""
        self.asked = 0
        """Number of requests to end it."""

    def watch(self) -> None:
        """Look now and then whether others cancel the wait.

        Nothing tells when a task is cancelled, and a look at each item would cost too much.
        """
        self._watching = self._loop.call_later(LOOK_SECONDS, self._look)

    def unwatch(self) -> None:
        """Look no longer."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _look(self) -> None:
        self.watch()
        if self.asked or self.task is None or self.task.cancelling() <= self.before:
            self._noticed = None
        elif self._noticed is None:
            self._noticed = self._loop.time()
        elif self._loop.time() - self._noticed >= INSISTENCE:
            self._cancel()

    def token_cancelled(self) -> None:
        """Cancel the wait, from any worker."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._cancel()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self.task is not None and not self.task.done():
            self.asked += 1
            self.task.cancel()
            self._insisting = self._loop.call_later(INSISTENCE, self._cancel)

    async def withdraw(self, task: asyncio.Task[Any] | None) -> None:
        """Take the request back: the consumer's task is not itself being cancelled.

        It may not have been delivered yet; then it must not hit the consumer's next await.
        """
        if self._insisting is not None:
            self._insisting.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if task is not None and task.cancelling() > self.asked:
                raise
        finally:
            while self.asked:
                self.asked -= 1
                if task is not None:
                    task.uncancel()
