"""Idle teams in memory, the longest unused first."""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic

from gateway.sessions.live_team import LiveTeam, TeamCloser


class IdleTeams:
    """Teams of threads without a running turn.

    They are saved, since each turn ends with a checkpoint: they may be dropped at any time.
    """

    def __init__(self, closing: TeamCloser) -> None:
        self._teams: OrderedDict[str, LiveTeam] = OrderedDict()
        self._closing = closing
        self.bytes = 0
        """Size of their last snapshots."""

    def __len__(self) -> int:
        return len(self._teams)

    def add(self, thread: str, team: LiveTeam) -> None:
        """Keep the team of the thread, as the one used last."""
        team.used_at = monotonic()
        self._teams[thread] = team
        self.bytes += team.saved_bytes

    def take(self, thread: str) -> LiveTeam | None:
        """The team of the thread, for its taker to close; or None."""
        team = self._teams.pop(thread, None)
        if team is not None:
            self.bytes -= team.saved_bytes
        return team

    def drop(self, thread: str) -> None:
        """Close the team of the thread, if there is one."""
        if (team := self.take(thread)) is not None:
            self._closing.add(team)

    def drop_unused(self, seconds: float) -> None:
        """Close teams unused for so long."""
        since = monotonic() - seconds
        while self._teams and next(iter(self._teams.values())).used_at < since:
            self._drop_oldest()

    def drop_surplus(self, most: int, most_bytes: float) -> None:
        """Close teams that are too many or too large, oldest first."""
        while self._teams and (len(self._teams) > most or self.bytes > most_bytes):
            self._drop_oldest()

    def drop_all(self) -> None:
        """Close all of them."""
        while self._teams:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self.drop(next(iter(self._teams)))
