"""Samples and their figures: the median, with quartiles as spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """The median of some samples, the quartiles, and their number."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Figures:
        """Raises ValueError where there are no samples."""
        if not samples:
            raise ValueError("There are no samples.")
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0], 1)
        low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(statistics.median(samples), low, high, len(samples))
