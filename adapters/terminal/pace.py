"""The pace of redrawing: as fast as the machine can do easily, and no faster."""

from __future__ import annotations

SHORTEST = 0.08
LONGEST = 0.5


def pause_after(cpu: float) -> float:
    """Seconds to wait after a redraw that took `cpu` seconds: a quarter of the time, at most, goes
    into drawing.
    """
    return min(LONGEST, max(SHORTEST, 3 * cpu))
