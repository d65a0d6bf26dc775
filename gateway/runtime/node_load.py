"""Load of a node, as it tells the others with each heartbeat."""

from __future__ import annotations

from typing import Any

from gateway.base.metrics import Metrics
from gateway.sessions.dispatcher import LocalDispatcher
from gateway.sessions.lanes import Lanes


class NodeLoad:
    """Figures of this moment; seconds of commits since the last ones."""

    def __init__(self, sessions: Lanes, dispatcher: LocalDispatcher, vitals: Metrics) -> None:
        self._sessions = sessions
        self._dispatcher = dispatcher
        self._vitals = vitals
        self._seen = (0.0, 0.0)

    def figures(self) -> dict[str, Any]:
        """The load; may be asked in a worker."""
        return {
            "running": self._sessions.running,
            "parallel": self._dispatcher.limit,
            "live": self._sessions.live,
            "lag": round(self._vitals.lag, 4),
            "commit": round(self._commit_seconds(), 4),
        }

    def _commit_seconds(self) -> float:
        totals = {
            sample.name.rpartition("_")[2]: sample.value
            for metric in self._vitals.commit.collect()
            for sample in metric.samples
        }
        seconds, count = totals["sum"], totals["count"]
        before, self._seen = self._seen, (seconds, count)
        return (seconds - before[0]) / max(1.0, count - before[1])
