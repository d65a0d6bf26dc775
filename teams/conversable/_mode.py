"""One engine for sync and async chats."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mode:
    """Sync or async: which form of a member a step of the engine calls.

    In a sync chat the engine's coroutines never suspend, so that
    `run_unsuspended` runs them without a loop,
    and every callback runs in the caller's thread.
    """

    is_async: bool

    async def call(
        self, plain: Callable[..., Any], coroutine: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Call the form of a member that belongs to this mode."""
        if not self.is_async:
            return plain(*args, **kwargs)
        return await self.settle(coroutine(*args, **kwargs))

    async def settle(self, result: Any) -> Any:
        """Await a result that has to be awaited."""
        return await result if self.is_async and inspect.isawaitable(result) else result


SYNC = Mode(is_async=False)
ASYNC = Mode(is_async=True)
