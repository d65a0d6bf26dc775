"""Units of work about lanes that nodes hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gateway.conversation import ConversationKey
from gateway.events import COMPACT, CONTINUE
from gateway.store.connection import Connection
from gateway.store.decisions import PersonLimits
from gateway.store.jobs import LaneJob
from gateway.store.nodes import ANY_PLATFORM, NodeTurn
from gateway.store.operations import reads
from gateway.store.records import PersonLoad, lane_groups_of
from gateway.store.units.rows import FREE, MUTED, OPEN_STATUSES, first, listed, scalar
from gateway.store.value_rows import rows_as

ADOPTED = 200
"""Threads that a node adopts at once."""
DEFERRED = 1_000
"""Threads that are deferred at once: PostgreSQL has room for some thousand locks."""
PERSON_WINDOW = 600.0
"""Seconds for which the turns of a person are counted."""
MOST_COUNTED = 500
"""Waiting messages of a person are counted so far."""
UNTOLD = """
    t.key NOT LIKE 'local/%' AND t.last_seq > COALESCE(
     (SELECT told FROM deliveries WHERE thread = t.id), 0)
"""
"""The platform of thread `t` is not told everything yet."""
_PLATFORM = "substr(t.key, 1, instr(t.key, '/') - 1)"
_IS_LEFT = f"""
    {UNTOLD} AND NOT EXISTS (SELECT 1 FROM turns WHERE thread = t.id AND status = 'running')
"""
"""Nobody but a teller is missing: a turn that runs is put back first, and counted."""

BEGINS = f"(text = '{CONTINUE}' OR text LIKE '{COMPACT}%')"
"""A command that began its turn, and did not let one go on."""

BEGUN = f"""
    (SELECT COUNT(*) FROM (SELECT 1 FROM turns WHERE author = :person
      AND started_at > :since AND started_at <= :now LIMIT :most) AS begun)
    + (SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = :person
      AND outcome = 'command' AND turn IS NOT NULL AND copy_of IS NULL AND NOT {BEGINS}
      AND taken_at > :since AND taken_at <= :now LIMIT :most) AS begun)
"""
"""Turns that a person has begun since then, those that went on at their /retry, and their forks."""

_LOAD = f"""
    SELECT
     (SELECT COUNT(*) FROM turns WHERE author = :person AND status = 'running'),
     {BEGUN},
     (SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = :person AND outcome = 'queued'
       LIMIT :many) AS waiting)
"""
_BEGUN_AT = f"""
    SELECT at FROM
     (SELECT started_at AS at FROM turns WHERE author = :person AND started_at > :since
       AND started_at <= :now
      UNION ALL SELECT taken_at FROM inbox WHERE author = :person AND outcome = 'command'
       AND turn IS NOT NULL AND copy_of IS NULL AND NOT {BEGINS}
       AND taken_at > :since AND taken_at <= :now) AS begun
    ORDER BY at DESC LIMIT 1 OFFSET :later
"""
_AHEAD = """
    SELECT COUNT(DISTINCT thread) FROM inbox WHERE author = :person AND outcome = 'queued'
    AND id < (SELECT MIN(id) FROM inbox WHERE thread = :thread AND outcome = 'queued')
"""
_LOST = f"""
    SELECT w.thread, w.author, t.team, t.key FROM (
     SELECT thread, author FROM turns WHERE status = 'paused' OR status = 'waiting' AND ready
     UNION SELECT thread, author FROM inbox AS i WHERE outcome = 'queued' AND id =
      (SELECT MIN(id) FROM inbox WHERE thread = i.thread AND outcome = 'queued')
      AND NOT EXISTS (SELECT 1 FROM turns WHERE thread = i.thread AND status IN {OPEN_STATUSES})
    ) AS w JOIN threads t ON t.id = w.thread
    /*pg WHERE NOT EXISTS (SELECT 1 FROM waiting_threads WHERE thread = w.thread)*/
"""
"""Threads that have something to do, nobody at it, and no job."""


def has_room(limits: PersonLimits | None, load: PersonLoad) -> bool:
    """True if somebody with this load may have one more turn."""
    return limits is None or (load.running < limits.parallel and load.begun < limits.turns)


def load_of(connection: Connection, person: str, most: int) -> PersonLoad:
    """A person's running turns, lately begun ones, and waiting messages."""
    since = connection.now - PERSON_WINDOW
    facts = {
        "person": person,
        "since": since,
        "now": connection.now,
        "most": most,
        "many": MOST_COUNTED,
    }
    row = first(connection, _LOAD, facts)
    assert row is not None
    return PersonLoad(running=row[0], begun=row[1], waiting=row[2])


def begins_at(connection: Connection, person: str, thread: str, most: int) -> float:
    """When the thread's turn may begin, after the person's others."""
    facts = {
        "person": person,
        "thread": thread,
        "since": connection.now - PERSON_WINDOW,
        "now": connection.now,
    }
    ahead = scalar(connection, _AHEAD, facts)
    later = most - 1 - ahead % most
    begun = scalar(connection, _BEGUN_AT, {**facts, "later": later})
    return (begun or connection.now) + PERSON_WINDOW * (1 + ahead // most)


def running_in_groups(connection: Connection) -> Counter[tuple[str, str]]:
    """Running turns of each team and workspace."""
    rows = connection.fetch(
        "SELECT t.team, t.key FROM turns u JOIN threads t ON t.id = u.thread"
        " WHERE u.status = 'running'"
    )
    found = Counter[tuple[str, str]]()
    for row in rows:
        found.update(lane_groups_of(row["team"], ConversationKey.parse(row["key"])))
    return found


def free_lanes_of(connection: Connection, boot: str) -> None:
    """Let go of a node's lanes with something left to tell."""
    connection.execute(
        f"UPDATE threads AS t SET owner = '{FREE}' WHERE t.owner = :boot AND {_IS_LEFT}",
        {"boot": boot},
    )


def free_lost_lanes(connection: Connection, since: float = 0.0) -> None:
    """Let go of nodeless lanes, used since then, with something to tell."""
    connection.execute(
        f"UPDATE threads AS t SET owner = '{FREE}' WHERE t.updated_at > :since"
        f" AND t.owner <> '{FREE}' AND NOT EXISTS (SELECT 1 FROM nodes WHERE boot = t.owner)"
        f" AND {_IS_LEFT}",
        {"since": since},
    )


def adopt(connection: Connection, boot: str, platforms: Sequence[str]) -> list[str]:
    """Take free lanes in which there is something to tell; their threads.

    A node that drains, or has another config than the others, takes none.
    """
    names, parameters = listed("platform", platforms)
    told = "TRUE" if ANY_PLATFORM in platforms else f"{_PLATFORM} IN {names}"
    rows = connection.fetch(
        f"SELECT t.id FROM threads t WHERE t.owner = '{FREE}' AND {told} AND {UNTOLD}"
        " AND EXISTS (SELECT 1 FROM nodes WHERE boot = :boot AND NOT draining"
        " /*pg AND takes_lanes(boot) */)"
        " ORDER BY t.updated_at LIMIT :most",
        {**parameters, "boot": boot, "most": ADOPTED},
    )
    taken: list[str] = []
    for thread in sorted(row["id"] for row in rows):
        connection.lock(thread)
        changed = connection.change(
            f"UPDATE threads SET owner = :boot WHERE id = :thread AND owner = '{FREE}'",
            {"boot": boot, "thread": thread},
        )
        taken += [thread] * changed
    return taken


def untold_of(connection: Connection, boot: str, since: float) -> tuple[str, ...]:
    """Threads of a node, changed since then, with something to tell."""
    rows = connection.fetch(
        f"SELECT t.id FROM threads t WHERE t.updated_at > :since AND t.owner = :boot AND {UNTOLD}"
        " ORDER BY t.updated_at LIMIT :most",
        {"since": since, "boot": boot, "most": ADOPTED},
    )
    return tuple(row["id"] for row in rows)


_RUNNING = "FROM turns u JOIN threads t ON t.id = u.thread WHERE u.status = 'running'"


@reads
def running_elsewhere(connection: Connection, boot: str) -> frozenset[str]:
    """Threads whose turns run on other nodes than this one."""
    rows = connection.fetch(
        f"SELECT t.id AS thread {_RUNNING} AND t.owner <> :boot", {"boot": boot}
    )
    return frozenset(row["thread"] for row in rows)


def turns_of(connection: Connection, boot: str) -> tuple[NodeTurn, ...]:
    """Turns that run on a node, as the store has it."""
    rows = connection.fetch(
        "SELECT t.id AS thread, u.id AS turn, u.stop_requested AS stop,"
        " t.mode IN ('steer', :muted) AND EXISTS"
        " (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued') AS steer"
        f" {_RUNNING} AND t.owner = :boot",
        {"boot": boot, "muted": f"{MUTED}steer"},
    )
    return tuple(map(rows_as(NodeTurn), rows))


def lost_jobs(connection: Connection) -> list[LaneJob]:
    """Jobs that are missing: of threads with work and no node."""
    rows = sorted(connection.fetch(_LOST), key=lambda row: row["thread"])
    return [
        LaneJob(
            thread=row["thread"],
            person=row["author"],
            groups=lane_groups_of(row["team"], ConversationKey.parse(row["key"])),
            hastens=False,
        )
        for row in rows
    ]


def defer_lost(connection: Connection) -> None:
    """Defer threads with work and no node."""
    for job in lost_jobs(connection)[:DEFERRED]:
        connection.lock(job.thread)
        connection.defer(job)
