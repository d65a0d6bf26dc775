"""Situation of a message, read in as few statements as possible.

Every message needs it: there are as few statements as there are tables to be asked apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gateway.conversation import InboundMessage
from gateway.errors import NotFound
from gateway.store.connection import Connection
from gateway.store.decisions import PersonLoad, Situation
from gateway.store.records import Request, TurnStatus
from gateway.store.units.grants import grants
from gateway.store.units.queue import waiting
from gateway.store.units.rows import (
    NEW_THREAD,
    OPEN_STATUSES,
    REQUEST_COLUMNS,
    THREAD_COLUMNS,
    THREAD_WIDTH,
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


class _SituationRow(NamedTuple):
    """Situation of a message besides its thread, in the order of `_query`."""

    told: float | None
    paired: int
    bots: int
    begun: int
    running: int
    waits: int
    status: TurnStatus | None
    asker: str | None
    waiting: int
    asks: int
    last: TurnStatus | None
    first_author: str | None
    last_author: str | None
    taken: int | None
    """The message that has one of its keys."""


_OF_THE_PERSON = """
    (SELECT MAX(received_at) FROM inbox WHERE conversation = :conversation AND author = :person
      AND outcome = 'refused' AND reason NOT IN ('withdrawn', :new_thread)
      AND received_at <= :now),
    EXISTS (SELECT 1 FROM people WHERE person = :person)
"""
_OF_BOTS = """
    (SELECT COUNT(*) FROM inbox WHERE conversation = :conversation AND author_kind = 'bot'
      AND received_at > :bots_since AND received_at <= :now)
"""
_LOAD = """
    (SELECT COUNT(*) FROM (SELECT 1 FROM turns WHERE author = :person
      AND started_at > :since AND started_at <= :now LIMIT :most) AS begun),
    (SELECT COUNT(*) FROM (SELECT 1 FROM turns WHERE author = :person
      AND status = 'running' LIMIT :most) AS running),
    (SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = :person
      AND outcome = 'queued' LIMIT :most) AS waiting)
"""
_OF_THE_THREAD = f"""
    (SELECT status FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}),
    (SELECT author FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}),
    (SELECT COUNT(*) FROM inbox WHERE thread = t.id AND outcome = 'queued'),
    EXISTS (SELECT 1 FROM requests WHERE thread = t.id AND state = 'open')
"""
_FOR_COMMANDS = """
    (SELECT status FROM turns WHERE thread = t.id ORDER BY n DESC LIMIT 1),
    (SELECT MIN(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
    (SELECT MAX(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused')
"""


@lru_cache(maxsize=32)
def _query(keys: int, *, named: bool, bot: bool, counted: bool, lists: bool) -> str:
    """Query of the situation of a message with so many keys.

    It gives always one row, also without a thread, and looks up nothing that does not matter.
    """
    spent = ", ".join(f":key{n}" for n in range(keys))
    facts = (
        _OF_THE_PERSON,
        _OF_BOTS if bot else "0",
        _LOAD if counted else "0, 0, 0",
        _OF_THE_THREAD,
        _FOR_COMMANDS if lists else "NULL, NULL, NULL",
        f"(SELECT inbox FROM dedupe WHERE key IN ({spent}) LIMIT 1)",
    )
    where = "t.id = :thread" if named else "t.key = :conversation AND t.current"
    return (
        f"SELECT {THREAD_COLUMNS}, {', '.join(facts)}"
        f" FROM (SELECT 1) AS always LEFT JOIN threads t ON {where}"
    )


def situation(
    connection: Connection,
    message: InboundMessage,
    named: str,
    now: float,
    *,
    counted: bool,
    lists: bool,
) -> Situation | int:
    """Situation of the message, and the number of its earlier copy.

    The copy has one of its keys.

    `named` is the request it names; `counted` says that its author's load matters, `lists` that
    it may ask for what waits and what was approved. Raises NotFound.
    """
    person = message.author
    facts = {
        "conversation": str(message.key),
        "thread": message.thread,
        "person": person.id,
        "new_thread": NEW_THREAD,
        "now": now,  # what seems to be later was before the clock was set back
        "bots_since": now - BOT_WINDOW,
        "since": now - PERSON_WINDOW,
        "most": MOST_COUNTED,
    }
    for n, key in enumerate(message.dedupe):
        facts[f"key{n}"] = key
    query = _query(
        len(message.dedupe),
        named=bool(message.thread),
        bot=person.kind == "bot",
        counted=counted,
        lists=lists,
    )
    (row,) = connection.fetch(query, facts)
    met = _SituationRow._make(row[THREAD_WIDTH:])
    if met.taken is not None:
        return met.taken
    thread = None if row[0] is None else thread_of(row)
    if thread is None and message.thread:
        raise NotFound(f"There is no thread {message.thread!r}.")
    return Situation(
        thread=thread,
        status=met.status,
        waiting=met.waiting,
        asker=met.asker or "",
        requests=_open_requests(connection, thread.id) if thread and met.asks else (),
        named=find_request(connection, named) if named else None,
        told=met.told,
        paired=bool(met.paired),
        bots=met.bots,
        load=PersonLoad(running=met.running, begun=met.begun, waiting=met.waits),
        last=met.last,
        others=bool({met.first_author, met.last_author} - {None, person.id}),
        queue=waiting(connection, thread.id) if thread and lists else (),
        grants=grants(connection, thread.id) if thread and lists else (),
    )


def _open_requests(connection: Connection, thread: str) -> tuple[Request, ...]:
    rows = connection.fetch(
        f"SELECT {REQUEST_COLUMNS} WHERE r.thread = :thread AND r.state = 'open'"
        " ORDER BY r.created_at, r.rowid",
        {"thread": thread},
    )
    return tuple(map(request_of, rows))
