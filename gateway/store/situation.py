"""What a message meets, read in as few statements as there are tables to be asked apart: this is
done for every message there is.
"""

from __future__ import annotations

import sqlite3

from gateway.conversation import InboundMessage
from gateway.errors import NotFound
from gateway.store import queue
from gateway.store import requests as asked
from gateway.store.decisions import Load, Situation
from gateway.store.records import Request
from gateway.store.rows import (
    OPEN_STATUSES,
    REQUEST_COLUMNS,
    THREAD_COLUMNS,
    find_request,
    request_of,
    thread_of,
)

BOT_WINDOW = 60.0
"""Seconds for which messages of bots are counted against each other."""
PERSON_WINDOW = 600.0
"""Seconds for which the turns of a person are counted."""
MOST_COUNTED = 100
"""A person's turns and messages are counted so far, so that it costs the same however busy they
are.
"""
NEW_THREAD = "a new thread began"

_OF_THE_PERSON = """
    (SELECT MAX(received_at) FROM inbox WHERE conversation = :conversation AND author = :person
      AND outcome = 'refused' AND reason NOT IN ('withdrawn', :new_thread)
      AND received_at <= :now) AS told,
    EXISTS (SELECT 1 FROM people WHERE person = :person) AS paired,
    (SELECT COUNT(*) FROM inbox WHERE conversation = :conversation AND author_kind = 'bot'
      AND received_at > :bots_since AND received_at <= :now AND :bot) AS bots,
    (SELECT COUNT(*) FROM (SELECT 1 FROM turns WHERE author = :person
      AND started_at > :since AND started_at <= :now LIMIT :most)) AS begun,
    (SELECT COUNT(*) FROM (SELECT 1 FROM turns WHERE author = :person
      AND status = 'running' LIMIT :most)) AS running,
    (SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = :person
      AND outcome = 'queued' LIMIT :most)) AS waits
"""
_OF_THE_THREAD = f"""
    (SELECT status FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}) AS open_status,
    (SELECT author FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}) AS open_author,
    (SELECT status FROM turns WHERE thread = t.id ORDER BY n DESC LIMIT 1) AS last_status,
    (SELECT COUNT(*) FROM inbox WHERE thread = t.id AND outcome = 'queued') AS waiting,
    (SELECT MIN(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused') AS first_author,
    (SELECT MAX(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused') AS last_author,
    EXISTS (SELECT 1 FROM requests WHERE thread = t.id AND state = 'open') AS asks
"""
_HERE = f"SELECT {THREAD_COLUMNS}, {_OF_THE_THREAD}, {_OF_THE_PERSON} FROM threads t WHERE"
_NOWHERE = f"SELECT {_OF_THE_PERSON}"


def situation(
    connection: sqlite3.Connection, message: InboundMessage, named: str, now: float, *, lists: bool
) -> Situation:
    """What the message meets; `named` is the request it names, `lists` says that it may ask for
    what waits and what was approved. Raises NotFound.
    """
    person = message.author
    facts = {
        "key": str(message.key),
        "conversation": str(message.key),
        "thread": message.thread,
        "person": person.id,
        "new_thread": NEW_THREAD,
        "bot": person.kind == "bot",
        "now": now,  # what seems to be later was before the clock was set back
        "bots_since": now - BOT_WINDOW,
        "since": now - PERSON_WINDOW,
        "most": MOST_COUNTED,
    }
    where = "t.id = :thread" if message.thread else "t.key = :key AND t.current"
    row = connection.execute(f"{_HERE} {where}", facts).fetchone()
    request = find_request(connection, named) if named else None
    if row is not None:
        return _here(connection, row, person.id, request, lists=lists)
    if message.thread:
        raise NotFound(f"There is no thread {message.thread!r}.")
    row = connection.execute(_NOWHERE, facts).fetchone()
    return Situation(
        thread=None,
        status=None,
        waiting=0,
        asker="",
        requests=(),
        named=request,
        told=row["told"],
        paired=bool(row["paired"]),
        bots=row["bots"],
        load=_load(row),
    )


def _here(
    connection: sqlite3.Connection,
    row: sqlite3.Row,
    person: str,
    named: Request | None,
    *,
    lists: bool,
) -> Situation:
    thread = thread_of(row)
    return Situation(
        thread=thread,
        status=row["open_status"],
        waiting=row["waiting"],
        asker=row["open_author"] or "",
        requests=_open_requests(connection, thread.id) if row["asks"] else (),
        named=named,
        told=row["told"],
        paired=bool(row["paired"]),
        bots=row["bots"],
        load=_load(row),
        last=row["last_status"],
        others=bool({row["first_author"], row["last_author"]} - {None, person}),
        queue=queue.waiting(connection, thread.id) if lists else (),
        grants=asked.grants(connection, thread.id) if lists else (),
    )


def _load(row: sqlite3.Row) -> Load:
    return Load(running=row["running"], begun=row["begun"], waiting=row["waits"])


def _open_requests(connection: sqlite3.Connection, thread: str) -> tuple[Request, ...]:
    rows = connection.execute(
        f"SELECT {REQUEST_COLUMNS} WHERE r.thread = ? AND r.state = 'open'"
        " ORDER BY r.created_at, r.rowid",
        (thread,),
    )
    return tuple(map(request_of, rows.fetchall()))
