"""Queries for missed messages, which one turn takes together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from gateway.store.connection import Connection, Row
from gateway.store.records import Thread
from gateway.store.units.queue import IN_ORDER
from gateway.store.units.rows import MessageRow

_MISSED = f"""
    SELECT id, author = :author AND missed <> 0 AND edits IS NULL AS joins,
     CASE WHEN awaits IS NOT NULL THEN awaits_until END AS until
    FROM inbox WHERE thread = :thread AND outcome = 'queued' {IN_ORDER}
"""
"""All that waits, in order: whether it goes with a missed message, and when its files are due."""


def missed_behind(connection: Connection, thread: Thread, message: MessageRow) -> Sequence[Row]:
    """Waiting messages that a missed one takes along.

    Those of its author that were missed, too, up to the first that is neither.
    """
    if thread.takes_all or not message.missed:
        return ()
    _, *behind = connection.fetch(_MISSED, {"thread": thread.id, "author": message.author})
    return [*takewhile(lambda row: row["joins"], behind)]


def files_due(message: MessageRow, behind: Sequence[Row]) -> list[float]:
    """Times at which a turn's awaited files are given up."""
    due = [message.awaits_until if message.awaits is not None else None]
    due += (row["until"] for row in behind)
    return [each for each in due if each is not None]
