"""The rows of the nodes' database, read past all proxies."""

from __future__ import annotations

from typing import Any

import psycopg

from gateway.store.postgres.database import Database
from gateway.store.postgres.integrity import check_rows
from tests.chaos.nodes.judge import InboxRow, numbers

INBOX = """
SELECT i.text, i.thread, i.outcome, COALESCE(t.n, 0), i.straggler
FROM inbox i LEFT JOIN turns t ON t.id = i.turn WHERE i.text IS NOT NULL
ORDER BY i.thread, i.order_key, i.id
"""
FINISHED = "SELECT result FROM tool_calls WHERE status = 'finished' AND result IS NOT NULL"
LEFT = {
    "open turns": "SELECT count(*) FROM turns WHERE status IN ('running', 'paused', 'waiting')",
    "failed turns": "SELECT count(*) FROM turns WHERE status NOT IN ('running', 'paused', 'done')",
    "waiting messages": "SELECT count(*) FROM inbox WHERE outcome = 'queued'",
    "gaps": "SELECT count(*) FROM gaps",
    "unsent parts": "SELECT count(*) FROM outbox WHERE status IN ('pending', 'attempting')",
    "untold threads": """
        SELECT count(*) FROM deliveries
        WHERE told < (SELECT max(seq) FROM events WHERE events.thread = deliveries.thread)
    """,
}
"""Rows of which nothing is left when everything is done."""
AT_REST = " UNION ALL ".join(f"SELECT '{name}', ({query})" for name, query in LEFT.items())
EVIDENCE = (
    "SELECT id, key, state, epoch, owner, last_seq FROM threads ORDER BY id",
    "SELECT thread, n, id, status, attempts, reason, started_at, finished_at FROM turns"
    " ORDER BY 1, 2",
    "SELECT thread, order_key, id, outcome, turn, straggler, text FROM inbox ORDER BY 1, 2, 3",
    "SELECT thread, seq, turn, kind, body FROM events ORDER BY 1, 2",
    "SELECT thread, turn, tool, status, result, started_at, finished_at FROM tool_calls"
    " ORDER BY 1, 2",
    "SELECT thread, item, n, seq, status, message, first, last, body, unsure, generation, attempts,"
    " reason, first_at, at, key FROM outbox ORDER BY thread, first_at",
    "SELECT * FROM deliveries ORDER BY thread",
)
"""Rows that tell how something came about."""
NODES = "SELECT name FROM nodes"


class Rows:
    """Rows of the database; None while it does not answer."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def read(self, query: str) -> list[tuple[Any, ...]] | None:
        """Rows as committed."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=2)
            return self._connection.execute(query.encode()).fetchall()
        except psycopg.errors.UndefinedTable:  # no node has started yet
            return None
        except psycopg.OperationalError:
            self.close()
            return None

    def inbox(self) -> list[InboxRow] | None:
        """Messages that were stored, each thread's in order."""
        rows = self.read(INBOX)
        return (
            None
            if rows is None
            else [
                InboxRow(n, thread or "", outcome, turn, straggler)
                for text, thread, outcome, turn, straggler in rows
                for n in numbers(text)[-1:]
            ]
        )

    def stored(self) -> frozenset[int] | None:
        """Messages that were stored."""
        rows = self.read("SELECT text FROM inbox WHERE text IS NOT NULL")
        return None if rows is None else frozenset(n for (text,) in rows for n in numbers(text))

    def finished(self) -> list[int]:
        """Messages for which the tool has run."""
        return [n for (result,) in self.read(FINISHED) or () for n in numbers(result)]

    def left(self) -> list[str] | None:
        """Rows that are not at rest, in words."""
        rows = self.read(AT_REST)
        return None if rows is None else [f"{count} {name}" for name, count in rows if count]

    def evidence(self) -> str:
        """Rows that tell how something came about, as text."""
        found = [(query, self.read(query) or []) for query in EVIDENCE]
        return "\n".join(line for query, rows in found for line in ("", query, *map(str, rows)))

    def faults(self) -> list[str]:
        """Laws that the store breaks, in words."""
        return [f"{each.thread} {each.text}" for each in check_rows(Database(url=self._url))]

    def nodes(self) -> list[str] | None:
        """Names of the nodes that are not dead."""
        rows = self.read(NODES)
        return None if rows is None else [name for (name,) in rows]
