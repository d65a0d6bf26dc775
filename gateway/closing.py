"""Teams that nobody needs any more are closed: what their agents and tools hold is released, such
as containers that ran code. Nobody waits for it, and it takes only so long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from gateway.factory.ownership import Close
from gateway.sessions.live_team import LiveTeam

LOG = logging.getLogger("gateway")

PATIENCE = 10.0
"""Seconds that closing one thing may take."""
AT_THE_END = 3.0
"""Seconds for all that is left when the gateway ends."""
SIDE_BY_SIDE = 4


class ClosingTeams:
    """Closes teams one after the other, a few at a time, while it runs."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[LiveTeam] = asyncio.Queue()

    def add(self, team: LiveTeam) -> None:
        """Close the team soon; most hold nothing, and are just let go."""
        if team.closes:
            self._waiting.put_nowait(team)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(SIDE_BY_SIDE):
                group.create_task(self._work(), name=f"gateway closing {number}")

    async def _work(self) -> None:
        while True:
            team = await self._waiting.get()
            for close in team.closes:
                await _close(close, PATIENCE)

    async def finish(self, teams: Iterable[LiveTeam]) -> None:
        """Close what waits and these, all at once."""
        left = list(teams)
        while not self._waiting.empty():
            left.append(self._waiting.get_nowait())
        async with asyncio.TaskGroup() as group:
            for team in left:
                for close in team.closes:
                    group.create_task(_close(close, AT_THE_END), name="gateway closing")


async def _close(close: Close, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await close()
    except TimeoutError:
        LOG.warning("%s did not end within %s s, and is left", _named(close), seconds)
    except Exception:  # it may be anybody's
        LOG.exception("%s failed", _named(close))


def _named(close: Close) -> str:
    return getattr(close, "__qualname__", repr(close))
