"""The figures of a running gateway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.base.connections import Life
from gateway.base.metrics import BackupFigures, Owed
from gateway.missed import MissedCounts
from gateway.store.nodes import NodeRow
from gateway.store.records import Counts, PoolFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStatus:
    """State of the connection to a platform."""

    state: Life
    since: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Figures for `parley status`."""

    pid: int
    since: float
    """Seconds since the epoch."""
    running: int
    live: int
    """Idle teams in memory."""
    live_bytes: int = 0
    """Size of their last snapshots."""
    counts: Counts | None
    """Figures over all threads; None while the store does not answer."""
    missed: MissedCounts = field(default_factory=MissedCounts)
    platforms: Mapping[str, PlatformStatus] = field(default_factory=dict[str, "PlatformStatus"])
    ignored: Mapping[str, int] = field(default_factory=dict[str, int])
    """Events of platforms that adapters dropped since the start, by the reason."""
    substitutions: Mapping[str, int] = field(default_factory=dict[str, int])
    """Answers since the start of models in the place of others, as "ONE for OTHER"."""
    owed: Sequence[Owed] = ()
    """Answers of this process that wait for a platform's limits."""
    remarks: Mapping[str, float] = field(default_factory=dict[str, float])
    """Refusals of platforms and models, with their age in seconds."""
    backup: BackupFigures | None = None
    """The scheduled backups, if there are any."""
    pool: PoolFigures | None = None
    """Connections to the store's database, if it has one."""
    boot: str = ""
    """The run that answers: one of the nodes, if there are any."""
    nodes: Sequence[NodeRow] = ()
    """All nodes of the store; none for files."""
    store: str = "ok"
    """A word for the store's state: an error's kind, unless its last writes were taken."""
    troubles: Sequence[str] = ()
    """Sentences about what does not work as it should."""
