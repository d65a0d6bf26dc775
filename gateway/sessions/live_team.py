"""A thread's team in memory: load, checkpoint, close.

Teams that nobody needs any more are closed: what their agents and tools hold is released, such as
containers that ran code. Nobody waits for it, and it takes only so long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from gateway.errors import TeamUnusable
from gateway.registry import Closer
from gateway.store.records import Checkpoint
from teams import BaseGroupChat, Swarm
from teams.base import DurableTeam

LOG = logging.getLogger("gateway")

PATIENCE = 10.0
"""Seconds that closing one thing may take."""

AT_THE_END = 3.0
"""Seconds for all that is left when the gateway ends."""

SIDE_BY_SIDE = 4

CHAIN = 1 << 20
"""Deltas may always grow to this many bytes, and to three times their snapshot, before a new
snapshot is written: so loading stays cheap, and a saved turn costs what it added, on average and
nearly always. A message in a delta takes ten times as long to load as one in a snapshot.
"""


class LiveTeam:
    """A team and the length of its chain of checkpoints."""

    def __init__(self, team: DurableTeam, *, anew: bool = False) -> None:
        self.team = team
        self.anew = anew
        """It has taken another's place in the midst of a turn, of which it knows nothing."""
        self.closes: tuple[Closer, ...] = ()
        """Functions that release its resources."""
        self.acts = True
        """It may do more than ask models, such as making files."""
        self.folder: Path | None = None
        """The thread's own, where it may make them."""
        self.hands_off = isinstance(team, Swarm)
        """Somebody in it may hand the work to the user."""
        self._foretells = team if isinstance(team, BaseGroupChat) else None
        self.used_at = 0.0
        """When it was last used, by `time.monotonic`."""
        self._snapshot = 0
        self._deltas: int | None = None

    @classmethod
    async def load(cls, team: DurableTeam, checkpoints: Sequence[Checkpoint]) -> LiveTeam:
        """Team at the last checkpoint. Raises TeamUnusable if it does not fit."""
        live = cls(team)
        if not checkpoints:
            return live
        try:
            await team.load_snapshot([checkpoint.data for checkpoint in checkpoints])
        except (ValueError, KeyError, TypeError) as error:
            raise TeamUnusable(
                "The team has changed since this thread was saved, and can't continue it."
            ) from error
        first, *deltas = checkpoints
        live._snapshot = len(first.data)
        live._deltas = sum(len(delta.data) for delta in deltas)
        return live

    @property
    def ends_next(self) -> bool:
        """True if the next item ends the run: no checkpoint before it."""
        return self._foretells is not None and self._foretells.ends_next

    async def checkpoint(self) -> Checkpoint | None:
        """Checkpoint to add, or None.

        A caller that can't store it drops the team.
        """
        if self._deltas is None or self._deltas > max(CHAIN, 3 * self._snapshot):
            data = await self.team.save_snapshot()
            self._snapshot, self._deltas = len(data), 0
            return Checkpoint(kind="snapshot", data=data)
        data = await self.team.save_delta()
        self._deltas += len(data)
        return Checkpoint(kind="delta", data=data) if data else None


class TeamCloser:
    """Closer of teams, a few at a time."""

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


async def _close(close: Closer, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await close()
    except TimeoutError:
        LOG.warning("%s did not end within %s s, and is left", _named(close), seconds)
    except Exception:  # it may be anybody's
        LOG.exception("%s failed", _named(close))


def _named(close: Closer) -> str:
    return getattr(close, "__qualname__", repr(close))
