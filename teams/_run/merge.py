"""Merge parallel jobs into one stream, one item ahead at most."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
Emit = Callable[[T], Awaitable[None]]
Job = Callable[[Emit[T]], Coroutine[Any, Any, None]]

GRACE = 0.5
"""Seconds a cancelled task may take to end before it is abandoned."""

logger = logging.getLogger("teams")

_abandoned: set[asyncio.Task[Any]] = set()


class _Scope:
    """The jobs of one `merge`; `closing` while they are cancelled."""

    __slots__ = ("closing", "outer")

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.closing: asyncio.Event | None = None

    def begin(self, jobs: Iterable[Coroutine[Any, Any, None]]) -> list[asyncio.Task[None]]:
        """Start a task for each job."""
        reset = _SCOPE.set(self)
        try:
            return [asyncio.create_task(job) for job in jobs]
        finally:
            _SCOPE.reset(reset)

    async def close(self, tasks: Sequence[asyncio.Task[None]], grace: float) -> None:
        """Cancel the tasks that still run."""
        self.closing = asyncio.Event()
        try:
            await cancel_all(tasks, grace)
        finally:
            self.closing.set()
            self.closing = None

    def leaving(self) -> asyncio.Event | None:
        """The event for which new work waits, here or further out."""
        scope: _Scope | None = self
        while scope is not None and scope.closing is None:
            scope = scope.outer
        return None if scope is None else scope.closing


_SCOPE: ContextVar[_Scope | None] = ContextVar("teams_merge_scope", default=None)


async def while_left() -> None:
    """Wait while a run around this task is being left.

    Its end cancels whoever belongs to the run. So nothing begins after the state was saved, except
    in what others have shielded.
    """
    scope = _SCOPE.get()
    while scope is not None and (leaving := scope.leaving()) is not None:
        await leaving.wait()


async def merge(
    jobs: Iterable[Job[T]],
    *,
    grace: float = GRACE,
    stopping: Callable[[], None] | None = None,
) -> AsyncGenerator[T, None]:
    """Yield the jobs' items as they arrive.

    A job whose item is out waits until it was taken. Each job lives whole in one task of its own,
    and no scope is held open over a yield (PEP 789). The first error of a job ends the stream. When
    the stream ends while jobs still run, `stopping` is called, and their tasks are cancelled and
    given `grace` seconds.
    """
    queue: asyncio.Queue[tuple[T, asyncio.Future[None]] | asyncio.Task[None]] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    async def emit(item: T) -> None:
        taken = loop.create_future()
        queue.put_nowait((item, taken))
        await taken

    scope = _Scope(_SCOPE.get())
    tasks = scope.begin(job(emit) for job in jobs)
    for task in tasks:
        task.add_done_callback(queue.put_nowait)
    try:
        running = len(tasks)
        while running:
            entry = await queue.get()
            if isinstance(entry, asyncio.Task):
                running -= 1
                entry.result()
            else:
                item, taken = entry
                yield item
                if not taken.done():
                    taken.set_result(None)
    finally:
        if stopping is not None and not all(task.done() for task in tasks):
            stopping()
        await scope.close(tasks, grace)


async def cancel_all(tasks: Sequence[asyncio.Task[Any]], grace: float = GRACE) -> None:
    """Cancel the tasks; those still running after `grace` seconds are abandoned."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    try:
        if running:
            await asyncio.wait(running, timeout=grace)
    finally:
        for task in tasks:
            if not task.done():
                _abandon(task)
            elif not task.cancelled():
                task.exception()  # retrieved here; whoever needed it has read it from the result


async def run_bounded(work: Coroutine[Any, Any, R]) -> R:
    """Await foreign code, which a cancelled caller leaves within `GRACE` seconds."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await cancel_all([task])
        raise


def is_being_cancelled() -> bool:
    """True if somebody cancels the current task, not code inside of it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _abandon(task: asyncio.Task[Any]) -> None:
    logger.warning("A cancelled call did not end in time and was abandoned: %r", task.get_coro())
    _abandoned.add(task)
    task.add_done_callback(_drop)


def _drop(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.warning("An abandoned call ended with %s: %s", type(error).__name__, error)
