"""Units of work that rename and list threads, and look into them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from urllib.parse import quote

from gateway.base.words import parts_of
from gateway.conversation import LOCAL, ConversationKey, Place, RecentMessage, place_mark
from gateway.events import Notice, SessionEvent, ThreadRenamed, load_event
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.records import ModelUse, Thread, Wait
from gateway.store.turn_records import Lease
from gateway.store.units import usage
from gateway.store.units.audit import note
from gateway.store.units.events import add_events
from gateway.store.units.people import names_of
from gateway.store.units.rows import THREADS, find_thread, first, listed, scalar, thread_of
from gateway.store.units.search import OF_PLATFORM, found_threads
from gateway.store.value_rows import rows_as, update
from gateway.values import Origin

THREADS_OF = """
    SELECT thread FROM inbox WHERE author = :person AND outcome <> 'refused' AND thread IS NOT NULL
    UNION SELECT thread FROM turns WHERE author = :person
    UNION SELECT thread FROM requests WHERE answered_by = :person
    UNION SELECT thread FROM audit WHERE person = :person AND what NOT LIKE '%.%'
     AND thread IN (SELECT id FROM threads)
"""
"""In which a person has written, asked or answered."""

_SAID_LATELY = """
WITH used AS (
    SELECT id FROM threads
    WHERE current AND key >= :first AND key < :beyond AND (updated_at >= :since
        OR EXISTS (SELECT 1 FROM inbox WHERE thread = threads.id AND outcome = 'queued'))
    ORDER BY updated_at DESC LIMIT :threads
), said AS (
    SELECT conversation, message_id, link, order_key,
        row_number() OVER (PARTITION BY thread ORDER BY order_key DESC) AS n
    FROM inbox JOIN used ON thread = used.id
    WHERE kind = 'message' AND message_id <> '' AND edits IS NULL AND outcome <> 'refused'
     AND copy_of IS NULL
)
SELECT conversation, message_id, link FROM said WHERE n <= :each ORDER BY order_key
"""


@writes
def rename_thread(connection: Connection, thread: str, title: str) -> list[SessionEvent]:
    """Give a thread another title. Raises NotFound."""
    connection.lock(thread)
    find_thread(connection, thread)
    update(connection, "threads", thread, title=title)
    note(connection, "thread.renamed", thread=thread)
    renamed = ThreadRenamed(thread=thread, title=title, given=True)
    return list(add_events(connection, thread, [renamed]))


@writes
def title_thread(
    connection: Connection,
    lease: Lease,
    title: str,
    uses: tuple[ModelUse, ...],
    told: tuple[str, ...] = (),
) -> list[SessionEvent]:
    """Give a thread a model's title, unless it keeps another.

    The turn after which it was made counts what it took; `told` are notices about that. Raises
    NotFound.
    """
    connection.lock(lease.thread)
    found = find_thread(connection, lease.thread)
    usage.add(connection, lease, uses, connection.now)
    rows = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND kind = 'thread_renamed'",
        {"thread": lease.thread},
    )
    before = [each for row in rows if isinstance(each := load_event(row["body"]), ThreadRenamed)]
    new: list[SessionEvent] = [Notice(thread=lease.thread, text=text) for text in told]
    if title not in ("", found.title) and not any(each.is_kept for each in before):
        update(connection, "threads", lease.thread, title=title)
        new.append(ThreadRenamed(thread=lease.thread, title=title, made=True))
    return list(add_events(connection, lease.thread, new))


@writes
def adopt_thread(connection: Connection, thread: str, origin: Origin) -> Thread:
    """Let a thread belong to another config from now on. Raises NotFound."""
    connection.lock(thread)
    found = find_thread(connection, thread)
    belongs = {"config": origin.path, "config_digest": origin.digest}
    update(connection, "threads", thread, **belongs)
    note(connection, "thread.adopted", thread=thread, object=origin.path)
    return replace(found, **belongs)


_LAST_USED = " ORDER BY t.updated_at DESC, t.rowid DESC"

_OWN_FIRST = """
 ORDER BY CASE WHEN t.key >= :local || '/' AND t.key < :local || '0' AND t.config <> :config
    AND (:digest = '' OR t.config_digest <> :digest) THEN 1 ELSE 0 END,
    t.updated_at DESC, t.rowid DESC
"""

_NEWEST = f"""
{THREADS} WHERE {OF_PLATFORM} AND t.team IN {{teams}} AND (t.config = :config
    OR :digest <> '' AND t.config_digest = :digest AND NOT EXISTS (SELECT 1 FROM threads t
        WHERE {OF_PLATFORM} AND t.config = :config)){_LAST_USED} LIMIT 1
"""

_WAITS = """
SELECT r.thread, r.agent, r.kind, r.approvers, t.author AS asker,
    (SELECT author_name FROM inbox WHERE turn = r.turn AND author = t.author LIMIT 1) AS asker_name
FROM requests r JOIN turns t ON t.id = r.turn
WHERE r.state = 'open' AND r.thread IN {threads} ORDER BY r.created_at DESC
"""


@reads
def threads(
    connection: Connection,
    *,
    search: str = "",
    platform: str = "",
    own: Origin | None = None,
    limit: int = 50,
    offset: int = 0,
) -> list[Thread]:
    """Threads, the last used first, each with what it waits for.

    `search`: each of its parts is in a word of the thread's title or texts. Without it, the
    terminal's threads that are not of the config `own` come last.
    """
    prefix = quote(platform, safe="")
    if parts := parts_of(search):
        found = found_threads(connection, parts, prefix, offset + limit)[offset:]
        names, parameters = listed("row", found)
        rows = connection.fetch(f"{THREADS} WHERE t.rowid IN {names}{_LAST_USED}", parameters)
    else:
        parameters = {"platform": prefix, "limit": limit, "offset": offset}
        if own is not None:
            parameters |= {"local": LOCAL, "config": own.path, "digest": own.digest}
        order = _LAST_USED if own is None else _OWN_FIRST
        rows = connection.fetch(
            f"{THREADS} WHERE {OF_PLATFORM}{order} LIMIT :limit OFFSET :offset", parameters
        )
    return _with_waits(connection, _with_places(connection, [thread_of(row) for row in rows]))


@reads
def newest_thread(connection: Connection, origin: Origin, teams: Collection[str]) -> Thread | None:
    """The config's last thread in the terminal with such a team.

    The config is known by its path, or by its text where no thread has that path.
    """
    names, parameters = listed("team", teams)
    parameters |= {"platform": LOCAL, "config": origin.path, "digest": origin.digest}
    row = first(connection, _NEWEST.format(teams=names), parameters)
    return None if row is None else thread_of(row)


@reads
def thread(connection: Connection, thread: str) -> Thread:
    """The thread, with the name of its place. Raises NotFound."""
    return _with_places(connection, [find_thread(connection, thread)])[0]


def _with_places(connection: Connection, found: list[Thread]) -> list[Thread]:
    marks = {place_mark(each.key) for each in found if not each.key.is_local}
    if not marks:
        return found
    text, parameters = listed("mark", marks)
    rows = connection.fetch(
        f"SELECT platform, name, value FROM marks WHERE name IN {text}", parameters
    )
    places = {(row["platform"], row["name"]): Place.load(row["value"]) for row in rows}
    return [_with_place(each, places.get((each.platform, place_mark(each.key)))) for each in found]


def _with_place(thread: Thread, place: Place | None) -> Thread:
    if place is None:
        return thread
    return replace(thread, place=place.name, members=place.members, direct=place.direct)


def _with_waits(connection: Connection, found: list[Thread]) -> list[Thread]:
    if not found:
        return []
    text, parameters = listed("thread", [thread.id for thread in found])
    rows = connection.fetch(_WAITS.format(threads=text), parameters)
    approvers = {row["thread"]: tuple[str, ...](json.loads(row["approvers"])) for row in rows}
    names = names_of(connection, {each for named in approvers.values() for each in named})
    waits = {
        row["thread"]: Wait(
            agent=json.loads(row["agent"])[-1],
            kind=row["kind"],
            approvers=(named := approvers[row["thread"]]),
            asker=row["asker"],
            asker_name=row["asker_name"] or "",
            approver_names=tuple(names[each] for each in named) if names.keys() >= {*named} else (),
        )
        for row in rows
    }
    counted = connection.fetch(
        "SELECT thread, COUNT(*) AS n FROM inbox"
        # By place, too: SQLite then takes the index of those that wait, not that of all.
        f" WHERE outcome = 'queued' AND thread IN {text} GROUP BY thread, place",
        parameters,
    )
    queued = Counter[str]()
    for row in counted:
        queued[row["thread"]] += row["n"]
    return [
        replace(
            thread,
            queued=queued[thread.id],
            wait=(wait := waits.get(thread.id)),
            asks=wait.agent if wait else "",
        )
        for thread in found
    ]


def thread_ids(connection: Connection) -> frozenset[str]:
    """The ids of all threads."""
    return frozenset(row["id"] for row in connection.fetch("SELECT id FROM threads"))


@reads
def thread_at(connection: Connection, key: ConversationKey) -> Thread | None:
    """The conversation's current thread; None if it is unknown."""
    row = first(connection, f"{THREADS} WHERE t.key = :key AND t.current", {"key": str(key)})
    return None if row is None else thread_of(row)


@reads
def threads_of(connection: Connection, person: str) -> list[Thread]:
    """The threads in which this person has written, asked or answered."""
    rows = connection.fetch(
        f"{THREADS} WHERE t.id IN ({THREADS_OF}) ORDER BY t.updated_at DESC", {"person": person}
    )
    return [thread_of(row) for row in rows]


@reads
def outdated(connection: Connection, definitions: Mapping[str, str]) -> list[Thread]:
    """The threads whose team has another definition than here, or none."""
    known = "".join(
        f" AND NOT (t.team = :team{n} AND t.definition = :definition{n})"
        for n in range(len(definitions))
    )
    parameters: dict[str, str] = {}
    for n, (team, definition) in enumerate(definitions.items()):
        parameters |= {f"team{n}": team, f"definition{n}": definition}
    rows = connection.fetch(f"{THREADS} WHERE TRUE{known} ORDER BY updated_at DESC", parameters)
    return [thread_of(row) for row in rows]


@reads
def recent_messages(
    connection: Connection,
    platform: str,
    workspace: str,
    since: float,
    *,
    threads: int = 20,
    each: int = 50,
) -> list[RecentMessage]:
    """The newest messages of a workspace's threads used last; see SessionReader."""
    rows = connection.fetch(
        _SAID_LATELY,
        {
            "first": f"{platform}/{workspace}/",
            "beyond": f"{platform}/{workspace}0",  # the character after the slash
            "since": since,
            "threads": threads,
            "each": each,
        },
    )
    return [*map(rows_as(RecentMessage, key="conversation"), rows)]


@reads
def link_of(connection: Connection, turn: str) -> str:
    """A link to the message of the turn; "" without one."""
    link = scalar(
        connection,
        "SELECT link FROM inbox WHERE turn = :turn AND link <> '' ORDER BY id LIMIT 1",
        {"turn": turn},
    )
    return link or ""
