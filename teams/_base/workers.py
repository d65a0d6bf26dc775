"""Functions of others: blocking ones run in daemon workers."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

logger = logging.getLogger("teams")

T = TypeVar("T")


async def in_daemon_worker(function: Callable[[], T], *, name: str) -> T:
    """Run a function in a daemon worker, with the caller's context variables.

    A cancelled caller leaves at once: the function runs on, its end is logged, its outcome dropped,
    and the process may end before it does. (The loop's own executor would keep the process.)
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            settle: tuple[Callable[[Any], None], Any] = future.set_result, context.run(function)
        except StopIteration as error:  # a future refuses it
            settle = future.set_exception, RuntimeError(f"{name} raised {error!r}")
        except BaseException as error:
            settle = future.set_exception, error
        try:
            loop.call_soon_threadsafe(deliver, *settle)
        except RuntimeError:  # the loop is closed
            logger.warning("%s ended after its run did; its outcome is dropped.", name)

    def deliver(settle: Callable[[Any], None], outcome: Any) -> None:
        if future.cancelled():
            logger.warning("%s ended after its run was cancelled; its outcome is dropped.", name)
        else:
            settle(outcome)

    threading.Thread(target=work, name=name, daemon=True).start()
    return await future


def is_async(function: Callable[..., Any]) -> bool:
    """True for a coroutine function or an object called like one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 (a callable object's own)
    )
