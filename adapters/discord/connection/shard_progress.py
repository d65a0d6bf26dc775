"""Events of a shard that are handled, and what is still owed.

Each connection (shard) has its own time until which it heard everything, and the number of the last
event of its session before which all are in the store: the node that takes the shard over is sent
the later ones again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.discord.connection.shard_state import DIRECT, ShardSession, ShardState

LOG = logging.getLogger("adapters.discord")

LATE = 60.0
"""Seconds without a frame after which the next ones may have waited: the process stood still."""
WAITED = 10.0
"""Seconds in which all that waited is read."""


@dataclass(slots=True)
class SessionProgress:
    """A session of a shard, and the numbers of its events."""

    id: str
    address: str
    received: int
    open: dict[int, int] = field(default_factory=dict[int, int])
    """Numbers of events being handled, by ours."""
    lost: float = math.inf
    """Number of the first event that could not be taken."""

    @property
    def accepted(self) -> int:
        """The last event up to which all were handled."""
        return int(min(self.received, self.lost - 1, *(each - 1 for each in self.open.values())))


@dataclass(slots=True)
class ShardProgress:
    """The state of one connection. Times are seconds since the epoch."""

    heard_at: float
    """Until when everything was heard."""
    since: float
    """Until when that was so as the connection began."""
    live: bool = False
    """It tells what happens now, and owes nothing of before."""
    read_at: float = math.inf
    """When its last frame was read."""
    late_until: float = 0.0
    """Until when frames say nothing of the time at which they are read."""
    lost: float = math.inf
    """When the first thing was said that could not be taken."""
    open: dict[int, float] = field(default_factory=dict[int, float])
    """Events being handled, with the times from which they would have to be read again."""
    owed: dict[str, float] = field(default_factory=dict[str, float])
    """Servers of which nothing is told yet, with the times until which they were heard; and DIRECT
    messages until they are looked at.
    """
    looks_at_direct: bool = False
    session: SessionProgress | None = None

    @property
    def taken_until(self) -> float:
        """The time until which all is handled that is not owed."""
        return min(self.lost, self.heard_at, *self.open.values())

    @property
    def state(self) -> ShardState:
        """The state that another process can go on from."""
        session = self.session
        # An event of an earlier session is not sent again by this one, but read from the history.
        known = session is not None and session.accepted > 0
        return ShardState(
            heard=self.taken_until,
            owed=dict(self.owed),
            session=ShardSession(id=session.id, address=session.address, sequence=session.accepted)
            if session is not None and known
            else None,
        )

    def lose(self) -> None:
        """The connection is gone: next come a greeting, or repeated events."""
        self.live, self.read_at, self.late_until = False, math.inf, 0.0

    def hear(self, now: float) -> None:
        """Note that a frame was read, unless it had waited."""
        if now - self.read_at > LATE:
            self.late_until = now + WAITED
        self.read_at = now
        if self.live and now >= self.late_until:
            self.heard_at = now

    def reset(self, data: Mapping[str, Any], number: int, *, first: bool) -> None:
        """A connection begins that owes what happened before.

        Direct messages come by the `first` shard.
        """
        self.since = self.taken_until
        places = [str(each["id"]) for each in data.get("guilds") or ()] + [DIRECT] * first
        self.owed = {place: min(self.owed.get(place, self.since), self.since) for place in places}
        self.lost, self.live = math.inf, True
        self.session = SessionProgress(
            str(data.get("session_id") or ""), str(data.get("resume_gateway_url") or ""), number
        )

    def mark_lost(
        self, session: SessionProgress | None, event: str, at: float, number: int
    ) -> None:
        """Leave what was said from then on to the next connection."""
        if self.lost == math.inf:
            LOG.error("from %s on, messages are read with the next connection", event)
        self.lost = min(self.lost, at)
        if session is not None:
            session.lost = min(session.lost, number)
