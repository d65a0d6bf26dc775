"""Units of work about lanes and the nodes that hold them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from gateway.conversation import ConversationKey
from gateway.store.connection import Connection
from gateway.store.decisions import PersonLimits
from gateway.store.jobs import LaneJob
from gateway.store.nodes import ANY_PLATFORM, Node, NodeRow
from gateway.store.records import PersonLoad, lane_groups_of
from gateway.store.units.rows import FREE, MUTED, OPEN_STATUSES, first, listed, scalar

ADOPTED = 200
"""Threads that a node adopts at once."""
MOST_COUNTED = 500
"""Waiting messages of a person are counted so far."""
UNTOLD = """
    t.key NOT LIKE 'local/%' AND t.last_seq > COALESCE(
     (SELECT told FROM deliveries WHERE thread = t.id), 0)
"""
"""The platform of thread `t` is not told everything yet."""

BEGUN = """
    (SELECT COUNT(*) FROM (SELECT 1 FROM turns WHERE author = :person
      AND started_at > :since AND started_at <= :now LIMIT :most) AS begun)
    + (SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = :person
      AND outcome = 'command' AND turn IS NOT NULL
      AND taken_at > :since AND taken_at <= :now LIMIT :most) AS begun)
"""
"""Turns that a person has begun since then, and those that went on at their /retry."""

_LOAD = f"""
    SELECT
     (SELECT COUNT(*) FROM turns WHERE author = :person AND status = 'running'),
     {BEGUN},
     (SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = :person AND outcome = 'queued'
       LIMIT :many) AS waiting)
"""
_LOST = f"""
    SELECT w.thread, w.author, t.team, t.key FROM (
     SELECT thread, author FROM turns WHERE status = 'paused' OR status = 'waiting' AND ready
      OR status = 'running' AND thread IN (SELECT id FROM threads WHERE owner = '{FREE}')
     UNION SELECT thread, author FROM inbox AS i WHERE outcome = 'queued' AND id =
      (SELECT MIN(id) FROM inbox WHERE thread = i.thread AND outcome = 'queued')
      AND NOT EXISTS (SELECT 1 FROM turns WHERE thread = i.thread AND status IN {OPEN_STATUSES})
    ) AS w JOIN threads t ON t.id = w.thread
"""
"""Threads that have something to do, and nobody at it."""


def has_room(limits: PersonLimits | None, load: PersonLoad) -> bool:
    """True if somebody with this load may have one more turn."""
    return limits is None or (load.running < limits.parallel and load.begun < limits.turns)


def load_of(connection: Connection, person: str, since: float, now: float, most: int) -> PersonLoad:
    """A person's running turns, turns begun since then, and waiting messages."""
    facts = {"person": person, "since": since, "now": now, "most": most, "many": MOST_COUNTED}
    row = first(connection, _LOAD, facts)
    assert row is not None
    return PersonLoad(running=row[0], begun=row[1], waiting=row[2])


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
        f"UPDATE threads AS t SET owner = '{FREE}' WHERE t.owner = :boot AND {UNTOLD}",
        {"boot": boot},
    )


def free_lost_lanes(connection: Connection, since: float = 0.0) -> None:
    """Let go of nodeless lanes, used since then, with something to tell."""
    connection.execute(
        f"UPDATE threads AS t SET owner = '{FREE}' WHERE t.updated_at > :since"
        f" AND t.owner <> '{FREE}' AND NOT EXISTS (SELECT 1 FROM nodes WHERE boot = t.owner)"
        f" AND {UNTOLD}",
        {"since": since},
    )


def adopt(connection: Connection, boot: str, platforms: Sequence[str]) -> list[str]:
    """Take free lanes in which there is something to tell; their threads."""
    if not platforms:
        return []
    rows = connection.fetch(
        f"SELECT t.id, t.key FROM threads t WHERE t.owner = '{FREE}' AND {UNTOLD}"
        " ORDER BY t.updated_at LIMIT :most",
        {"most": ADOPTED},
    )
    mine = [row["id"] for row in rows if _is_told(row["key"], platforms)]
    taken: list[str] = []
    for thread in sorted(mine):
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


def running_elsewhere(connection: Connection, boot: str) -> frozenset[str]:
    """Threads whose turns run on other nodes than this one."""
    rows = connection.fetch(
        f"SELECT t.id AS thread {_RUNNING} AND t.owner <> :boot", {"boot": boot}
    )
    return frozenset(row["thread"] for row in rows)


def stopped_turns(connection: Connection, boot: str) -> tuple[tuple[str, str], ...]:
    """Turns that run on a node and are to be stopped."""
    rows = connection.fetch(
        f"SELECT t.id AS thread, u.id AS turn {_RUNNING} AND t.owner = :boot AND u.stop_requested",
        {"boot": boot},
    )
    return tuple((row["thread"], row["turn"]) for row in rows)


def steered_turns(connection: Connection, boot: str) -> tuple[tuple[str, str], ...]:
    """Turns that run on a node and have messages to take up."""
    rows = connection.fetch(
        f"SELECT t.id AS thread, u.id AS turn {_RUNNING} AND t.owner = :boot"
        " AND t.mode IN ('steer', :muted) AND EXISTS"
        " (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued')",
        {"boot": boot, "muted": f"{MUTED}steer"},
    )
    return tuple((row["thread"], row["turn"]) for row in rows)


def _is_told(key: str, platforms: Sequence[str]) -> bool:
    """True if a node of these platforms tells this conversation."""
    return ANY_PLATFORM in platforms or key.partition("/")[0] in platforms


def defer_lost(connection: Connection) -> int:
    """Defer threads with work and no node; their number."""
    rows = connection.fetch(_LOST)
    for row in sorted(rows, key=lambda row: row["thread"]):
        connection.lock(row["thread"])
        groups = lane_groups_of(row["team"], ConversationKey.parse(row["key"]))
        job = LaneJob(thread=row["thread"], person=row["author"], groups=groups, hastens=False)
        connection.defer(job)
    return len(rows)


def holder_of(connection: Connection, name: str) -> str | None:
    """The node that has a lease, if any."""
    return scalar(connection, "SELECT holder FROM leases WHERE name = :name", {"name": name})


def hold(connection: Connection, name: str, boot: str) -> bool:
    """Take a lease, unless another node that lives has it."""
    holder = scalar(connection, "SELECT holder FROM leases WHERE name = :name", {"name": name})
    if holder == boot:
        return True
    mine = {"name": name, "boot": boot}
    taken = connection.change(
        "INSERT INTO leases (name, holder) VALUES (:name, :boot) ON CONFLICT (name) DO UPDATE"
        " SET holder = excluded.holder"
        " WHERE leases.holder = excluded.holder OR NOT EXISTS"
        " (SELECT 1 FROM nodes WHERE boot = leases.holder)",
        mine,
    )
    return bool(taken)


def release(connection: Connection, name: str, boot: str) -> None:
    """Give a lease back, if this node has it."""
    connection.execute(
        "DELETE FROM leases WHERE name = :name AND holder = :boot", {"name": name, "boot": boot}
    )


def nodes(connection: Connection) -> list[NodeRow]:
    """The nodes of the store, the oldest first."""
    rows = connection.fetch(
        "SELECT n.*, /*pg server_time() - */ n.beat AS silent,"
        " (SELECT COUNT(*) FROM turns u JOIN threads t ON t.id = u.thread"
        " WHERE u.status = 'running' AND t.owner = n.boot) AS lanes,"
        " (SELECT json_group_array(name) FROM leases WHERE holder = n.boot) AS leases"
        " FROM nodes n ORDER BY n.since, n.boot"
    )
    return [
        NodeRow(
            node=Node(
                boot=row["boot"],
                name=row["name"],
                version=row["version"],
                platforms=tuple(json.loads(row["platforms"])),
            ),
            since=row["since"],
            silent=row["silent"],
            draining=bool(row["draining"]),
            lives=row["silent"] <= row["patience"],
            lanes=row["lanes"],
            leases=tuple(sorted(json.loads(row["leases"]))),
            figures=json.loads(row["figures"]),
        )
        for row in rows
    ]


def known_lanes(connection: Connection, threads: Sequence[str], boot: str) -> frozenset[str]:
    """Those of these threads whose lanes are this node's."""
    names, parameters = listed("thread", threads)
    rows = connection.fetch(
        f"SELECT id FROM threads WHERE id IN {names} AND owner = :boot",
        {**parameters, "boot": boot},
    )
    return frozenset(row["id"] for row in rows)
