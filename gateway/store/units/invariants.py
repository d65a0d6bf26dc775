"""The unit of work that finds faults which no sound store has."""

from __future__ import annotations

from hashlib import sha256

from gateway.events import load_event
from gateway.store.connection import Connection
from gateway.store.records import StoreFault
from gateway.store.units.audit import TELLS_OF_GONE
from gateway.store.units.copies import broken_promises
from gateway.store.units.counts import FALSE_COUNT
from gateway.store.units.rows import OPEN_STATUSES
from gateway.store.units.search_index import FALSE_INDEX

PAGE = 1000
"""Rows that are read at once."""

_LAWS: tuple[tuple[str, str], ...] = (
    (
        "its events have a gap",
        "SELECT t.id AS thread FROM threads t LEFT JOIN (SELECT thread, COUNT(*) AS n,"
        " MIN(seq) AS first, MAX(seq) AS last FROM events GROUP BY thread) e ON e.thread = t.id"
        " WHERE COALESCE(e.n, 0) <> t.last_seq OR COALESCE(e.last, 0) <> t.last_seq"
        " OR e.first <> 1",
    ),
    ("a kept figure is not the number of rows", FALSE_COUNT),
    ("its words are not all found, or others are", FALSE_INDEX),
    (
        "its turns have a gap",
        "SELECT thread FROM turns GROUP BY thread HAVING COUNT(*) <> MAX(n) OR MIN(n) <> 1",
    ),
    (
        "it rests, but has an open turn",
        "SELECT t.id AS thread FROM threads t JOIN turns u ON u.thread = t.id"
        f" WHERE t.state IN ('idle', 'parked') AND u.status IN {OPEN_STATUSES}",
    ),
    (
        "it works or waits, but has no open turn",
        "SELECT t.id AS thread FROM threads t WHERE t.state IN ('working', 'waiting')"
        f" AND NOT EXISTS (SELECT 1 FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES})",
    ),
    (
        "a question is open, but its turn is over",
        "SELECT r.thread FROM requests r JOIN turns u ON u.id = r.turn"
        f" WHERE r.state = 'open' AND u.status NOT IN {OPEN_STATUSES}",
    ),
    (
        "a waiting message has no text",
        "SELECT thread FROM inbox WHERE outcome = 'queued' AND (text IS NULL OR thread IS NULL)",
    ),
    (
        "the state of its team has a gap",
        "SELECT thread FROM checkpoints GROUP BY thread HAVING COUNT(*) <> MAX(n) - MIN(n) + 1"
        " OR COALESCE(MIN(CASE WHEN kind = 'snapshot' THEN n END), 0) <> MIN(n)",
    ),
    (
        "the size of its files is wrong",
        "SELECT t.id AS thread FROM threads t LEFT JOIN (SELECT thread, SUM(size) AS bytes"
        " FROM attachments GROUP BY thread) a ON a.thread = t.id"
        " WHERE t.attached <> COALESCE(a.bytes, 0)",
    ),
    ("the audit has words of a deleted thread", f"SELECT thread FROM audit {TELLS_OF_GONE}"),
    (
        "more was delivered than there is",
        "SELECT t.id AS thread FROM deliveries d JOIN threads t ON t.id = d.thread"
        " WHERE d.told > t.last_seq",
    ),
)
"""Sentences about faults, each with the query that finds where."""


def broken_laws(connection: Connection) -> list[StoreFault]:
    """Faults that no database can see; it reads everything."""
    found = [
        StoreFault(thread=row["thread"] or "", text=text)
        for text, query in _LAWS
        for row in connection.fetch(query)
    ]
    promises = [
        StoreFault(thread=each.thread or "", text=f"the key {each.key} is spent, but {each.fault}")
        for each in broken_promises(connection)
    ]
    events, files = _unreadable_events(connection), _changed_files(connection)
    return [*found, *promises, *events, *files]


def _unreadable_events(connection: Connection) -> list[StoreFault]:
    found: list[StoreFault] = []
    last = 0
    while rows := connection.fetch(
        "SELECT rowid, thread, seq, body FROM events WHERE rowid > :last ORDER BY rowid"
        " LIMIT :page",
        {"last": last, "page": PAGE},
    ):
        last = rows[-1]["rowid"]
        for row in rows:
            if not is_event(row["body"], row["thread"], row["seq"]):
                text = f"its event {row['seq']} is unreadable"
                found.append(StoreFault(thread=row["thread"], text=text))
    return found


def is_event(body: bytes, thread: str, seq: int) -> bool:
    """True if this is the event with this number."""
    try:
        event = load_event(body)
    except ValueError:
        return False
    return (event.thread, event.seq) == (thread, seq)


def _changed_files(connection: Connection) -> list[StoreFault]:
    files = connection.fetch("SELECT DISTINCT sha256 FROM attachments")
    return [
        StoreFault(thread="", text=f"the file {row['sha256']} was changed")
        for row in files
        if sha256(connection.contents(row["sha256"])).hexdigest() != row["sha256"]
    ]
