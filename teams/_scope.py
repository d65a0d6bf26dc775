"""The stream a run hands out: it ties each pull to the cancellation token and knows when its
consumer has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from teams._cancellation import CancellationToken

T = TypeVar("T")


class RunStream(AsyncGenerator[T, None], Generic[T]):
    """An async generator around another one.

    Cancelling the token while the consumer waits for an item cancels just that wait; while the
    consumer holds an item, its next pull ends the run. Either way the consumer sees CancelledError,
    after `cancelled` has put things in order; so it does when its own task is cancelled. `dropped`
    is called when the stream is dropped without closing (a plain `break`): the event loop then
    closes the inner generator a little later. `opening` runs before the first pull.
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
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked = 0
        self._watching = False

    def __aiter__(self) -> RunStream[T]:
        return self

    async def __anext__(self) -> T:
        if self._opening is not None:
            opening, self._opening = self._opening, None
            await opening()
        if self._token is None:
            return await self._pull()
        return await self._pull_watched(self._token)

    async def asend(self, value: None) -> T:
        return await self.__anext__()

    async def athrow(self, typ: Any, val: Any = None, tb: Any = None) -> T:
        try:
            return await self._inner.athrow(typ, val, tb)
        except BaseException as error:
            await self._failed(error)
            raise

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._end()

    def __del__(self) -> None:
        self._end()
        if self._dropped is not None:
            self._dropped()

    async def _pull(self) -> T:
        try:
            return await self._inner.__anext__()
        except BaseException as error:
            await self._failed(error)
            raise

    async def _pull_watched(self, token: CancellationToken) -> T:
        if not self._watching:
            self._watching = True
            self._loop = asyncio.get_running_loop()
            token.add_callback(self._token_cancelled)
        if token.is_cancelled():
            return await self.athrow(asyncio.CancelledError())
        self._task = asyncio.current_task()
        try:
            item = await self._inner.__anext__()
        except BaseException as error:
            self._task, task = None, self._task
            self._withdraw(task)
            await self._failed(error)
            raise
        self._task, task = None, self._task
        if self._asked:
            await self._absorb(task)
            return await self.athrow(asyncio.CancelledError())
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

    def _withdraw(self, task: asyncio.Task[Any] | None) -> None:
        # The request was ours: the consumer's task is not itself being cancelled.
        while self._asked and task is not None:
            self._asked -= 1
            task.uncancel()

    async def _absorb(self, task: asyncio.Task[Any] | None) -> None:
        # The inner generator finished its item without meeting the cancellation: it must not hit
        # the consumer's next await.
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if task is not None and task.cancelling() > self._asked:
                raise
        finally:
            self._withdraw(task)

    async def _failed(self, error: BaseException) -> None:
        try:
            if isinstance(error, asyncio.CancelledError):
                await self._cancelled()
        finally:
            self._end()

    def _end(self) -> None:
        if self._watching and self._token is not None:
            self._token.remove_callback(self._token_cancelled)
            self._watching = False
