"""Placeholder."""

from typing import Any


def gather_usage_summary(agents: Any) -> Any:
    """Placeholder."""
    return {
        k: {"total_cost": 0}
        for k in ("usage_including_cached_inference", "usage_excluding_cached_inference")
    }
