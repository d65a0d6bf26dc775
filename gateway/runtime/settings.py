"""What a gateway is set up with: teams, who may do what, bounds. A reload exchanges all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.access.authority import Access
from gateway.config.budgets import Budget, Price
from gateway.config.settings import Attachments
from gateway.content.attachments import MB
from gateway.registry import TeamSource
from gateway.sessions.turn_settings import TurnSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one gateway. Times are in seconds."""

    parallel_turns: int = 16
    crowd_turns: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of them may be of one "team" or of one "workspace"."""
    live_teams: int = 100
    """Idle teams kept in memory; the others are loaded again when they are needed."""
    idle: float = 900.0
    """How long an idle team is kept in memory."""
    retention: float | None = None
    """How long a thread is kept that nothing happens in; None for ever."""
    waiting_messages: int = 20
    """How many messages may wait in a thread; more are refused."""
    collect: float = 3.0
    """How long nobody may have written in a thread that collects messages before its turn begins.
    """
    requests_expire: float | None = 86400.0
    """How long people have to answer a request; None for ever."""
    shutdown: float = 3.0
    """How long turns may take to reach a safe point when the gateway ends."""
    attachments: Attachments = field(default_factory=Attachments)
    """Which files are taken with messages."""
    budgets: Sequence[Budget] = ()
    """How much may be used over time."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """What models cost, by their names at the provider."""
    timezone: str = ""
    """Where times are told in, such as "Europe/Berlin", and where people are of whom it is not
    known; "" for this machine's.
    """


@dataclass(slots=True)
class ActiveSettings:
    """What holds at this moment."""

    teams: TeamSource
    access: Access
    limits: Limits

    def terms(self, clock: Callable[[], float]) -> TurnSettings:
        """What holds for turns and their questions; `clock` is the time of day."""
        limits = self.limits
        return TurnSettings(
            live_teams=limits.live_teams,
            quiet=limits.collect,
            expire=limits.requests_expire,
            largest_file=limits.attachments.file_mb * MB,
            may_answer=self.access.operators.who_may_answer,
            clock=clock,
        )
