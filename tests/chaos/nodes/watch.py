"""A look at people's screens and the store's rows, again and again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from tests.chaos.campaign.platform import Platform, Post
from tests.chaos.nodes.judge import answered
from tests.chaos.nodes.rows import Rows

LOOK_AGAIN = 0.1
PATIENCE = 100.0
"""Seconds that something has to come about; a unit of the store is tried for 90."""


class NotSeen(Exception):
    """Something did not come about; the text says what."""


class Watch:
    """Answers and rows, as of the last look."""

    def __init__(self, platforms: Sequence[Platform], rows: Rows) -> None:
        self._platforms = platforms
        self._rows = rows
        self._looked = asyncio.Condition()
        self._activity = -1
        self.answered: frozenset[int] = frozenset()
        """Messages that have a whole answer."""
        self.stored: frozenset[int] = frozenset()
        """Messages that are in the store."""
        self.nodes: Sequence[str] = ()
        """Names of the nodes that are not dead."""
        self.left: Sequence[str] = ("not looked yet",)
        """Rows that are not at rest."""

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Look, until it is left."""
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._look())
            yield
            looking.cancel()
        self._rows.close()

    async def until(self, holds: Callable[[], object], what: str | Callable[[], str]) -> None:
        """Wait until something holds after a look. Raises NotSeen."""
        try:
            async with asyncio.timeout(PATIENCE), self._looked:
                await self._looked.wait_for(lambda: bool(holds()))
        except TimeoutError:
            what = what if isinstance(what, str) else what()
            raise NotSeen(f"{what}; nodes: {self.nodes}, left: {self.left}") from None

    def posts(self) -> list[Post]:
        """Everything that the bots' messages say now."""
        return [post for platform in self._platforms for post in platform.posts()]

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            activity = sum(platform.activity for platform in self._platforms)
            if activity != self._activity:
                self._activity = activity
                found = answered(self.posts()).values()
                self.answered = frozenset(n for numbers in found for n in numbers)
            await asyncio.to_thread(self._read)
            async with self._looked:
                self._looked.notify_all()

    def _read(self) -> None:
        stored, nodes, left = self._rows.stored(), self._rows.nodes(), self._rows.left()
        if stored is not None:
            self.stored = stored
        if nodes is not None:
            self.nodes = nodes
        self.left = ["the database does not answer"] if left is None else left
