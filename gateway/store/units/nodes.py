"""Units of work about nodes and their leases."""

from __future__ import annotations

import json

from gateway.store.connection import Connection
from gateway.store.nodes import Node, NodeRow
from gateway.store.operations import reads, writes
from gateway.store.units.rows import scalar


def holder_of(connection: Connection, name: str) -> str | None:
    """The living node that has a lease, if any."""
    query = "SELECT holder FROM leases JOIN nodes ON boot = holder WHERE leases.name = :name"
    return scalar(connection, query, {"name": name})


def hold(connection: Connection, name: str, boot: str) -> bool:
    """Take a lease, unless another node that lives has it.

    A node that drains takes none.
    """
    taken = connection.change(
        "INSERT INTO leases (name, holder)"
        " SELECT :name, boot FROM nodes WHERE boot = :boot AND NOT draining"
        " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder"
        " WHERE leases.holder = excluded.holder OR NOT EXISTS"
        " (SELECT 1 FROM nodes WHERE boot = leases.holder)",
        {"name": name, "boot": boot},
    )
    return bool(taken)


@writes
def release(connection: Connection, name: str, boot: str) -> None:
    """Give a lease back, if this node has it."""
    connection.execute(
        "DELETE FROM leases WHERE name = :name AND holder = :boot", {"name": name, "boot": boot}
    )


@reads
def nodes(connection: Connection) -> list[NodeRow]:
    """The nodes of the store, the oldest first."""
    rows = connection.fetch(
        "SELECT n.*, /*pg server_time() - */ n.beat AS silent,"
        " TRUE /*pg AND takes_lanes(n.boot) */ AS takes,"
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
            takes_lanes=bool(row["takes"]),
            lives=row["silent"] <= row["patience"],
            lanes=row["lanes"],
            leases=tuple(sorted(json.loads(row["leases"]))),
            figures=json.loads(row["figures"]),
        )
        for row in rows
    ]
