"""A rate that nodes share, with answers as they are told."""

from __future__ import annotations

import asyncio

from gateway.rates import DrawnTokens


class ScriptedRate:
    """A SharedRate whose answers the test gives, one for each draw."""

    def __init__(self, *, shared: bool = True) -> None:
        self.is_shared = shared
        self.asked: list[float] = []
        """The reserve of each draw."""
        self.closed: list[float] = []
        self._open: list[asyncio.Future[DrawnTokens]] = []

    def draw(self, most: int, *, reserve: float = 0.0) -> asyncio.Future[DrawnTokens]:
        """Wait for the next answer."""
        self.asked.append(reserve)
        future: asyncio.Future[DrawnTokens] = asyncio.get_running_loop().create_future()
        self._open.append(future)
        return future

    def close(self, seconds: float) -> None:
        """Note that it was closed."""
        self.closed.append(seconds)

    async def answer(self, tokens: int, *, wait: float = 0.0, level: float = 0.0) -> None:
        """Answer the oldest draw, and let those who wait go on."""
        self._open.pop(0).set_result(DrawnTokens(tokens=tokens, wait=wait, level=level))
        for _ in range(10):
            await asyncio.sleep(0)
