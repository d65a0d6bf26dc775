"""Things of one kind one after the other, in the order in which they came; others side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Turns:
    """Locks by name, each there only as long as somebody has it or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncGenerator[None]:
        """Have one's turn."""
        self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            async with self._locks.setdefault(name, asyncio.Lock()):
                yield
        finally:
            self._wanted[name] -= 1
            if not self._wanted[name]:
                del self._wanted[name], self._locks[name]
