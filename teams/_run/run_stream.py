"""The stream a run hands out, which ties each pull to the cancellation token and knows when its
consumer has left; and the length of a run, in which an error becomes a TeamError.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Generic, Literal, TypeVar

from teams._base.cancellation import CancellationToken
from teams._contract.team import TaskResult, TeamError
from teams._run.merge import is_being_cancelled

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
        self._pull: _Pull | None = None

    def __aiter__(self) -> RunStream[T]:
        return self

    async def __anext__(self) -> T:
        if self._state != "open":
            await self._open()
        try:
            if self._token is None or self._pull is None:
                item = await self._inner.__anext__()
            else:
                item = await self._pull_watched(self._token, self._pull)
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
            self._pull = _Pull(asyncio.get_running_loop())
            self._token.add_callback(self._pull.token_cancelled)

    async def _pull_watched(self, token: CancellationToken, pull: _Pull) -> T:
        if token.is_cancelled():
            return await self._inner.athrow(asyncio.CancelledError())
        pull.task = asyncio.current_task()
        try:
            item = await self._inner.__anext__()
        finally:
            task, pull.task = pull.task, None
            cancelled = pull.asked > 0
            if cancelled:
                await pull.withdraw(task)
        if cancelled:
            return await self._inner.athrow(asyncio.CancelledError())
        return item

    async def _give_up(self) -> None:
        opened = self._state == "open"
        self._end()
        if opened:
            await self._cancelled()

    def _end(self) -> None:
        self._state = "over"
        self._unwatch()

    def _unwatch(self) -> None:
        if self._token is not None and self._pull is not None:
            self._token.remove_callback(self._pull.token_cancelled)
        self._token = None


class _Pull:
    """The consumer's wait for an item, for the token to cancel: apart from the stream, which the
    token must not keep alive once its consumer has dropped it.
    """

    __slots__ = ("_insisting", "_loop", "asked", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._insisting: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[Any] | None = None
        """The task that waits, while one does."""
        self.asked = 0
        """How often it was asked to end."""

    def token_cancelled(self) -> None:
        """Cancel the wait, from whatever thread."""
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


class UnderWay:
    """The length of a run. What fails in it is a TeamError, but for a cancellation from outside."""

    __slots__ = ("_rest", "_token")

    def __init__(self, token: CancellationToken, rest: Callable[[], None]) -> None:
        self._token = token
        self._rest = rest

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            match error:
                case TeamError():
                    return
                case asyncio.CancelledError():
                    if self._token.is_cancelled() or is_being_cancelled():
                        return
                    raise TeamError(_account(error)) from error  # a participant's own doing
                case Exception():
                    raise TeamError(_account(error)) from error
                case _:
                    return
        finally:
            self._rest()


def _account(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error))
    return f"{type(error).__name__}: {error}\n{lines}"
