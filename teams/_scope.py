"""The stream a run hands out: it ties each pull to the cancellation token and knows when its
consumer has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any, Generic, Literal, TypeVar
from weakref import WeakMethod

from teams._cancellation import CancellationToken
from teams._team import TaskResult

T = TypeVar("T")

INSISTENCE = 0.95
"""Seconds until a pull that has not ended is cancelled again; what the engine waits for itself has
given up by then.
"""


class RunStream(AsyncGenerator[T, None], Generic[T]):
    """An async generator around another one.

    Cancelling the token while the consumer waits for an item cancels just that wait, again and
    again until it ends, for somebody's code may catch a CancelledError and go on; while the
    consumer holds an item, its next pull ends the run. Either way the consumer sees CancelledError,
    after `cancelled` has put things in order; so it does when its own task is cancelled in a pull.
    A token that was cancelled before the first pull leaves everything as it is, and one that is
    cancelled after the TaskResult has nothing to cancel.

    `opening` runs before the first pull. `dropped` is called when the stream is dropped without
    closing (a plain `break`): the event loop then closes the inner generator a little later.
    """

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
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked = 0
        self._insisting: asyncio.TimerHandle | None = None
        self._watcher: Callable[[], None] | None = None

    def __aiter__(self) -> RunStream[T]:
        return self

    async def __anext__(self) -> T:
        if self._state != "open":
            await self._open()
        try:
            if self._token is None:
                item = await self._inner.__anext__()
            else:
                item = await self._pull_watched(self._token)
        except asyncio.CancelledError:
            await self._give_up()
            raise
        except BaseException:
            self._end()
            raise
        if type(item) is TaskResult:
            self._unwatch()
        return item

    async def asend(self, value: None) -> T:
        return await self.__anext__()

    async def athrow(self, typ: Any, val: Any = None, tb: Any = None) -> T:
        try:
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
        if self._token is not None:
            self._loop = asyncio.get_running_loop()
            # The token must not keep a stream alive that its consumer has dropped.
            method = WeakMethod(self._token_cancelled)
            self._watcher = partial(_call, method)
            self._token.add_callback(self._watcher)

    async def _pull_watched(self, token: CancellationToken) -> T:
        if token.is_cancelled():
            return await self._inner.athrow(asyncio.CancelledError())
        self._task = task = asyncio.current_task()
        try:
            item = await self._inner.__anext__()
        finally:
            self._task = None
            cancelled = self._asked > 0
            if cancelled:
                if self._insisting is not None:
                    self._insisting.cancel()
                await self._withdraw(task)
        if cancelled:
            return await self._inner.athrow(asyncio.CancelledError())
        return item

    def _token_cancelled(self) -> None:
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._cancel_pull()
        elif self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel_pull)

    def _cancel_pull(self) -> None:
        if self._task is not None and not self._task.done():
            self._asked += 1
            self._task.cancel()
            loop = self._task.get_loop()
            self._insisting = loop.call_later(INSISTENCE, self._cancel_pull)

    async def _withdraw(self, task: asyncio.Task[Any] | None) -> None:
        """Take our request back: the consumer's task is not itself being cancelled.

        It may not have been delivered yet; then it must not hit the consumer's next await.
        """
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if task is not None and task.cancelling() > self._asked:
                raise
        finally:
            while self._asked:
                self._asked -= 1
                if task is not None:
                    task.uncancel()

    async def _give_up(self) -> None:
        opened = self._state == "open"
        self._end()
        if opened:
            await self._cancelled()

    def _end(self) -> None:
        self._state = "over"
        self._unwatch()

    def _unwatch(self) -> None:
        if self._token is not None and self._watcher is not None:
            self._token.remove_callback(self._watcher)
        self._token = None


def _call(method: WeakMethod[Callable[[], None]]) -> None:
    if (alive := method()) is not None:
        alive()
