"""A thread's team in memory, and how little of it has to be saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateway.errors import TeamUnusable
from gateway.factory.ownership import Close
from gateway.store.records import Checkpoint
from teams import BaseGroupChat, Swarm
from teams.base import DurableTeam

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
        self.closes: tuple[Close, ...] = ()
        """What releases all that it holds."""
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
        """The team as it stood at the last checkpoint. Raises TeamUnusable if it does not fit."""
        live = cls(team)
        if not checkpoints:
            return live
        try:
            await team.load_snapshot([checkpoint.data for checkpoint in checkpoints])
        except (ValueError, KeyError, TypeError) as error:
            raise TeamUnusable(
                "The team has changed since this thread was saved, and can't go on with it."
            ) from error
        first, *deltas = checkpoints
        live._snapshot = len(first.data)
        live._deltas = sum(len(delta.data) for delta in deltas)
        return live

    @property
    def ends_next(self) -> bool:
        """Its run is known to end with what it gives next, at once: it need not be saved before."""
        return self._foretells is not None and self._foretells.ends_next

    async def checkpoint(self) -> Checkpoint | None:
        """What to add to the chain, None for nothing. Whoever can't store it drops the team."""
        if self._deltas is None or self._deltas > max(CHAIN, 3 * self._snapshot):
            data = await self.team.save_snapshot()
            self._snapshot, self._deltas = len(data), 0
            return Checkpoint(kind="snapshot", data=data)
        data = await self.team.save_delta()
        self._deltas += len(data)
        return Checkpoint(kind="delta", data=data) if data else None
