"""Units of work for messages deleted after a team had heard them.

The team's saved state holds their words until a turn takes them out.
"""

from __future__ import annotations

from gateway.conversation import InboundMessage
from gateway.errors import LeaseLost
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.records import Checkpoint
from gateway.store.turn_records import GoneMessage, Lease
from gateway.store.units.adapters import OWN, mark
from gateway.store.units.rows import GONE_MARK, first
from gateway.store.units.turns import add_checkpoint
from gateway.store.value_rows import rows_as

_HOLDS = "SELECT 1 FROM threads WHERE id = :thread AND epoch = :epoch"
_UNMARK = "DELETE FROM marks WHERE platform = :platform AND name = :name"


def note_deletion(
    connection: Connection, thread: str, message: InboundMessage, deletion: int
) -> None:
    """Note that a heard message is deleted, with all that repeat it."""
    connection.execute(
        "UPDATE inbox SET reason = 'gone' WHERE message_id = :message_id AND message_id <> ''"
        " AND kind <> 'command' AND kind <> 'edit' AND thread = :thread"
        " AND outcome IN ('turn', 'merged')",
        {"message_id": message.message_id, "thread": thread},
    )
    mark(connection, OWN, f"{GONE_MARK}{thread}", str(deletion))


def forget_deletions(connection: Connection, thread: str) -> None:
    """Keep no mark of a thread that is deleted."""
    connection.execute(_UNMARK, {"platform": OWN, "name": f"{GONE_MARK}{thread}"})


@reads
def gone_messages(connection: Connection, thread: str) -> list[GoneMessage]:
    """The deleted messages that a team has heard, or was about to."""
    rows = connection.fetch(
        "SELECT i.id AS inbox, COALESCE(i.copy_of, i.id) AS first, i.message_id,"
        " i.joined OR t.status = 'done' AS saved"
        " FROM inbox i JOIN turns t ON t.id = i.turn"
        " WHERE i.thread = :thread AND i.reason = 'gone'",
        {"thread": thread},
    )
    return [*map(rows_as(GoneMessage), rows)]


@reads
def outdated_messages(connection: Connection, thread: str) -> frozenset[int]:
    """The heard messages that were deleted or edited since."""
    rows = connection.fetch(
        "SELECT COALESCE(m.copy_of, m.id) AS inbox FROM inbox m"
        " WHERE m.thread = :thread AND (m.reason = 'gone' OR EXISTS"
        " (SELECT 1 FROM inbox WHERE edits = m.id AND kind = 'edit' AND text IS NOT NULL))",
        {"thread": thread},
    )
    return frozenset(row["inbox"] for row in rows)


@writes
def take_out(connection: Connection, lease: Lease, deletion: str, state: Checkpoint | None) -> None:
    """Keep the team's state without what was deleted up to then.

    None for a team that was told none of it. Raises LeaseLost.
    """
    connection.lock(lease.thread)
    if first(connection, _HOLDS, {"thread": lease.thread, "epoch": lease.epoch}) is None:
        raise LeaseLost(lease.thread)
    if state is not None:
        add_checkpoint(connection, lease, state)
    connection.execute(
        f"{_UNMARK} AND value = :deletion",
        {"platform": OWN, "name": f"{GONE_MARK}{lease.thread}", "deletion": deletion},
    )
