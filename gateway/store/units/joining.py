"""The unit of work that takes messages into a turn that runs."""

from __future__ import annotations

from itertools import takewhile

from gateway.errors import LeaseLost
from gateway.events import MessageJoined
from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.turn_records import JoinedMessages, Lease
from gateway.store.units.claims import queued, take
from gateway.store.units.events import add_events
from gateway.store.units.queue import IN_ORDER
from gateway.store.units.rows import MESSAGE_COLUMNS, MUTED, MessageRow, first


@writes
def join(connection: Connection, lease: Lease) -> JoinedMessages:
    """Take waiting messages into the running turn, where they join it.

    Raises LeaseLost.

    What is to be run again on its own stays.
    """
    connection.lock(lease.thread)
    row = first(
        connection,
        "SELECT mode FROM threads WHERE id = :thread AND epoch = :epoch",
        {"thread": lease.thread, "epoch": lease.epoch},
    )
    if row is None:
        raise LeaseLost(lease.thread)
    if row["mode"].removeprefix(MUTED) != "steer":
        return JoinedMessages(messages=(), events=())
    rows = connection.fetch(
        f"SELECT {MESSAGE_COLUMNS} FROM inbox i WHERE i.thread = :thread"
        f" AND i.outcome = 'queued' AND i.edits IS NULL {IN_ORDER}",
        {"thread": lease.thread},
    )
    # None overtakes another.
    found = [*takewhile(lambda row: row.awaits is None, map(MessageRow._make, rows))]
    for row in found:
        take(connection, lease.turn, row.id, "merged")
    messages = tuple(queued(connection, row) for row in found)
    shown = [
        MessageJoined(thread=lease.thread, turn=lease.turn, message=message.shown)
        for message in messages
    ]
    return JoinedMessages(messages=messages, events=add_events(connection, lease.thread, shown))
