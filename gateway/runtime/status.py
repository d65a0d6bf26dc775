"""The figures of a running gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.store.records import Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Figures for `parley status`."""

    pid: int
    since: float
    """Seconds since the epoch."""
    running: int
    live: int
    """Idle teams in memory."""
    counts: Counts
    remarks: Mapping[str, float] = field(default_factory=dict[str, float])
    """Refusals of platforms, with their age in seconds."""
