"""Settings of a gateway: teams, access, limits; exchanged at a reload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.access.authority import Access
from gateway.config.budgets import Budget, Price
from gateway.config.settings import Attachments
from gateway.content.attachments import MB
from gateway.missed import MissedRules
from gateway.registry import TeamSource
from gateway.sessions.turn_settings import TurnSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one gateway. Times are in seconds."""

    parallel_turns: int = 16
    crowd_turns: Mapping[str, int] = field(default_factory=dict[str, int])
    """Most turns at a time of one "team" or "workspace"."""
    live_teams: int = 100
    """Idle teams kept in memory; the others are loaded again when they are needed."""
    live_bytes: float = 256_000_000
    """Bytes that the last snapshots of idle teams may have together."""
    idle: float = 900.0
    """Seconds that an idle team stays in memory."""
    retention: float | None = None
    """Seconds that a thread is kept after its last use, or None."""
    retention_share: float = 0.2
    """Largest share of all threads that one round of retention deletes."""
    audit: float | None = None
    """Seconds that a row of the audit is kept, or None."""
    waiting_messages: int = 20
    """Most messages that may wait in a thread."""
    collect: float = 3.0
    """Seconds without a message before a collecting thread's turn begins."""
    requests_expire: float | None = 86400.0
    """Seconds in which people can answer a request; None for ever."""
    missed: MissedRules = field(default_factory=MissedRules)
    """Ages up to which messages that were missed in a pause are answered or offered."""
    shutdown: float = 3.0
    """Seconds in which turns must reach a safe point at shutdown."""
    attachments: Attachments = field(default_factory=Attachments)
    """Which files are taken with messages."""
    largest_result: int = 100_000
    """Bytes of a tool result's text that a model is given."""
    budgets: Sequence[Budget] = ()
    """Budgets over time."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Prices of models, by their names at the provider."""
    timezone: str = ""
    """Where times are told in, such as "Europe/Berlin", and where people are of whom it is not
    known; "" for this machine's.
    """

    @property
    def largest_file(self) -> int:
        """Size limit of a file, in bytes."""
        return int(self.attachments.file_mb * MB)


@dataclass(slots=True)
class ActiveSettings:
    """Settings in use at this moment."""

    teams: TeamSource
    access: Access
    limits: Limits
    serves: bool = True
    """It serves platforms: then it also goes on with the terminal's threads of other configs."""

    def terms(self, clock: Callable[[], float], has_others: Callable[[], bool]) -> TurnSettings:
        """Settings of turns; `clock` is the time of day.

        `has_others`: other nodes may have watchers.
        """
        limits, access = self.limits, self.access
        return TurnSettings(
            live_teams=limits.live_teams,
            live_bytes=limits.live_bytes,
            quiet=limits.collect,
            expire=limits.requests_expire,
            largest_file=limits.largest_file,
            largest_result=limits.largest_result,
            may_answer=access.operators.who_may_answer,
            is_operator=access.operators.include,
            has_others=has_others,
            manners=access.manners if access.has_manners else None,
            only=None if self.serves else self.teams.origin,
            clock=clock,
        )
