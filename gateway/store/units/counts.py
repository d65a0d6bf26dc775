"""The unit of work that counts: figures over all threads."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.base.calendar import CalendarWindow, window_start
from gateway.store.connection import Connection
from gateway.store.records import Counts
from gateway.store.units.people import COUNT_FEEDBACK
from gateway.store.units.usage import spent

_WINDOWS: Mapping[str, CalendarWindow] = {"today": "day", "this month": "month"}
_GROUPS = (
    ("threads", "state"),
    ("inbox", "outcome"),
    ("turns", "status"),
    ("requests", "state"),
    ("outbox", "status"),
)
_REFUSED = (
    "SELECT 'refused' AS name, reason AS value, COUNT(*) AS n FROM inbox"
    " WHERE outcome = 'refused' GROUP BY reason"
)


def _group(table: str, column: str) -> str:
    return (
        f"SELECT '{table}' AS name, {column} AS value, COUNT(*) AS n FROM {table} GROUP BY {column}"
    )


_QUERY = " UNION ALL ".join((_REFUSED, COUNT_FEEDBACK, *(_group(*names) for names in _GROUPS)))


def counts(connection: Connection, now: float) -> Counts:
    """Figures over all threads."""
    names = ("refused", "feedback", *(table for table, _ in _GROUPS))
    found: dict[str, dict[str, int]] = {name: {} for name in names}
    for row in connection.fetch(_QUERY, {"thread": ""}):
        found[row["name"]][row["value"]] = row["n"]
    used = {
        name: spent(connection, None, "", window_start(window, now))
        for name, window in _WINDOWS.items()
    }
    return Counts(
        threads=found["threads"],
        inbox=found["inbox"],
        refused=found["refused"],
        turns=found["turns"],
        open_requests=found["requests"].get("open", 0),
        tokens={name: each.tokens for name, each in used.items()},
        cost={name: each.cost for name, each in used.items()},
        outbox=found["outbox"],
        feedback=found["feedback"],
    )
