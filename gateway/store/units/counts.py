"""Figures over all threads, kept as rows change."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.base.calendar import CalendarWindow, window_start
from gateway.store.connection import Connection
from gateway.store.operations import reads
from gateway.store.records import Counts
from gateway.store.units.holds import held_threads
from gateway.store.units.rows import first

DAY = 86400
"""Seconds of a day, without leap seconds, as the clock has it."""

_WINDOWS: Mapping[str, CalendarWindow] = {"today": "day", "this month": "month"}
_STATES = (
    ("threads", "state"),
    ("inbox", "outcome"),
    ("requests", "state"),
    ("outbox", "status"),
)
_VERDICT = "CASE WHEN good THEN 'good' ELSE 'bad' END"
_COUNTED = (
    *(f"SELECT '{name}', {of}, COUNT(*) FROM {name} GROUP BY 2" for name, of in _STATES),
    "SELECT 'refused', reason, COUNT(*) FROM inbox WHERE outcome = 'refused' GROUP BY 2",
    f"SELECT 'feedback', {_VERDICT}, COUNT(*) FROM feedback GROUP BY 2",
    "SELECT 'unread', platform, COUNT(DISTINCT place) FROM gaps GROUP BY 2",
)
USED_DAYS = (
    "SELECT CAST(at / 86400 AS INTEGER) AS day,"
    " SUM(prompt_tokens + completion_tokens) AS tokens, SUM(cost) AS cost FROM usage GROUP BY 1"
)
_USED_SINCE = (
    "SELECT COALESCE(SUM(tokens), 0) AS tokens, COALESCE(SUM(cost), 0.0) AS cost"
    " FROM used_days WHERE day >= :day"
)
_OLDEST = "SELECT MIN(first_at) AS at FROM outbox WHERE status IN ('pending', 'attempting')"

FIGURES = " UNION ALL ".join(_COUNTED)
"""Query of the names, values and numbers of all figures, counted anew."""

FALSE_COUNT = (
    f"SELECT NULL AS thread FROM (SELECT * FROM ({FIGURES}) AS a EXCEPT SELECT * FROM tallies) AS b"
    " UNION ALL SELECT NULL FROM"
    f" (SELECT * FROM tallies WHERE n <> 0 EXCEPT SELECT * FROM ({FIGURES}) AS c) AS d"
    " UNION ALL SELECT NULL FROM (SELECT day, tokens, cost FROM used_days"
    f" UNION ALL SELECT day, -tokens, -cost FROM ({USED_DAYS}) AS e) AS f"
    " GROUP BY day HAVING SUM(tokens) <> 0 OR ABS(SUM(cost)) > 0.001"
)
"""Query with a row where the kept figures are not those of the rows."""


@reads
def counts(connection: Connection) -> Counts:
    """Figures over all threads."""
    found: dict[str, dict[str, int]] = {}
    for row in connection.fetch("SELECT name, value, n FROM tallies WHERE n > 0"):
        found.setdefault(row["name"], {})[row["value"]] = row["n"]
    used = {
        name: first(connection, _USED_SINCE, {"day": window_start(window, connection.now) // DAY})
        for name, window in _WINDOWS.items()
    }
    oldest = first(connection, _OLDEST, {})
    waiting = (
        0.0 if oldest is None or oldest["at"] is None else max(0.0, connection.now - oldest["at"])
    )
    return Counts(
        threads=found.get("threads", {}),
        inbox=found.get("inbox", {}),
        refused=found.get("refused", {}),
        open_requests=found.get("requests", {}).get("open", 0),
        tokens={name: row["tokens"] if row else 0 for name, row in used.items()},
        cost={name: max(0.0, row["cost"]) if row else 0.0 for name, row in used.items()},
        outbox=found.get("outbox", {}),
        feedback=found.get("feedback", {}),
        oldest_undelivered=waiting,
        held=held_threads(connection),
    )


def count_anew(connection: Connection) -> None:
    """Count all rows, where the kept figures can't be trusted."""
    connection.execute("DELETE FROM tallies")
    connection.execute("DELETE FROM used_days")
    connection.execute(f"INSERT INTO tallies {FIGURES}")
    connection.execute(f"INSERT INTO used_days {USED_DAYS}")
