"""Units of work of the outbox: platforms' messages and each thread's progress."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.conversation import ConversationKey
from gateway.errors import NotFound
from gateway.outbox import Delivery, OutboxRow
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.units.rows import UNSYNCED, first
from gateway.store.value_rows import Table, insert, rows_as

OUTBOX = Table("outbox", OutboxRow, key=("key",))

_HERE = """
    SELECT last_seq, (SELECT told FROM deliveries WHERE thread = :thread) AS told
    FROM threads WHERE id = :thread
    /*pg AND NOT EXISTS (SELECT 1 FROM nodes
     WHERE boot = owner AND boot <> current_setting('parley.boot', TRUE))*/
"""

_PROGRESS = """
    SELECT t.key, t.team, t.owner, t.last_seq, d.told, d.gone, d.doubtful, d.doubtful_since
    FROM threads t LEFT JOIN deliveries d ON d.thread = t.id WHERE t.id = :thread
"""
_ROWS = "SELECT * FROM outbox WHERE thread = :thread ORDER BY item, n, generation"


@writes
def put_part(connection: Connection, row: OutboxRow) -> None:
    """Write a row. Raises NotFound once its thread is gone.

    What became of an attempt is looked up if this is lost, but not that there was one.
    """
    if row.status != "attempting":
        connection.execute(UNSYNCED)
    _must_exist(connection, row.thread)
    insert(connection, OUTBOX, row)


@writes
def mark_delivered(
    connection: Connection, thread: str, seq: int, posted: Sequence[OutboxRow] = ()
) -> int:
    """Note what was posted, and how far; the thread's last seq.

    Raises NotFound.

    Rows of what was told before are removed, but for questions that are open and what failed.
    """
    connection.execute(UNSYNCED)
    last, before = _must_exist(connection, thread)
    for row in posted:
        insert(connection, OUTBOX, row)
    if before is None or before < seq:
        connection.execute(
            "DELETE FROM outbox WHERE thread = :thread AND seq <= :told AND status <> 'failed'"
            " AND NOT open",
            {"thread": thread, "told": before or 0},
        )
        connection.execute(
            "INSERT INTO deliveries (thread, told) VALUES (:thread, :seq)"
            " ON CONFLICT (thread) DO UPDATE SET told = excluded.told"
            " WHERE deliveries.told < excluded.told",
            {"thread": thread, "seq": seq},
        )
    return last


@writes
def give_up(connection: Connection, thread: str, seq: int, why: str) -> None:
    """Note that nothing up to `seq` is delivered any more. Raises NotFound."""
    _must_exist(connection, thread)
    connection.execute(
        "UPDATE outbox SET status = 'failed', reason = :why"
        " WHERE thread = :thread AND status IN ('pending', 'attempting')",
        {"thread": thread, "why": why},
    )
    connection.execute(
        "INSERT INTO deliveries (thread, told, gone) VALUES (:thread, :seq, :why)"
        " ON CONFLICT (thread) DO UPDATE SET gone = excluded.gone,"
        " told = CASE WHEN deliveries.told > excluded.told THEN deliveries.told"
        " ELSE excluded.told END",
        {"thread": thread, "seq": seq, "why": why},
    )


@writes
def clear_gone(connection: Connection, thread: str) -> None:
    """Note that the thread can be written to again."""
    connection.execute("UPDATE deliveries SET gone = '' WHERE thread = :thread", {"thread": thread})


@reads
def undelivered_threads(connection: Connection, platform: str) -> list[str]:
    """The threads of a platform with undelivered events."""
    prefix = str(ConversationKey(platform=platform)).partition("/")[0] + "/"
    rows = connection.fetch(
        "SELECT t.id FROM threads AS t LEFT JOIN deliveries AS d ON d.thread = t.id"
        " WHERE substr(t.key, 1, length(:prefix)) = :prefix AND t.last_seq > COALESCE(d.told, 0)"
        " ORDER BY t.updated_at",
        {"prefix": prefix},
    )
    return [row["id"] for row in rows]


@reads
def delivery(connection: Connection, thread: str) -> Delivery:
    """Progress of a thread's delivery, and its messages there. Raises NotFound."""
    of_thread = {"thread": thread}
    progress, rows = connection.fetch_each((_PROGRESS, of_thread), (_ROWS, of_thread))
    if not progress:
        raise NotFound(f"There is no thread {thread!r}.")
    known = progress[0]
    return Delivery(
        key=ConversationKey.parse(known["key"]),
        team=known["team"],
        owner=known["owner"],
        told=known["told"] or 0,
        gone=known["gone"] or "",
        rows=tuple(map(rows_as(OutboxRow), rows)),
        last=known["last_seq"],
        doubtful=known["doubtful"] or 0,
        doubtful_since=known["doubtful_since"] or 0.0,
    )


@reads
def messages_of(
    connection: Connection, place: ConversationKey, *, turn: str = "", inbox: int = 0
) -> list[str]:
    """Platform ids of a turn's messages there, or of one message."""
    rows = connection.fetch(
        f"SELECT DISTINCT message_id FROM inbox WHERE {'turn = :turn' if turn else 'id = :inbox'}"
        " AND conversation = :place AND kind = 'message' AND message_id <> ''",
        {"turn": turn, "inbox": inbox, "place": str(place)},
    )
    return [row["message_id"] for row in rows]


def doubt(connection: Connection, since: float) -> None:
    """Note that all that is not delivered may have been, since then.

    What stands on a platform is newer than the store, so it stays: an open question, too.
    """
    connection.execute("UPDATE outbox SET status = 'attempting' WHERE status = 'pending'")
    connection.execute("UPDATE outbox SET open = FALSE WHERE open")
    connection.execute(
        "INSERT INTO deliveries (thread, told, doubtful, doubtful_since)"
        " SELECT id, 0, last_seq, :since FROM threads WHERE TRUE"
        " ON CONFLICT (thread) DO UPDATE SET doubtful = excluded.doubtful,"
        " doubtful_since = excluded.doubtful_since",
        {"since": since},
    )


def _must_exist(connection: Connection, thread: str) -> tuple[int, int | None]:
    """The last seq of this node's thread, and the told one."""
    row = first(connection, _HERE, {"thread": thread})
    if row is None:
        raise NotFound(f"There is no thread {thread!r} here.")
    return row["last_seq"], row["told"]
