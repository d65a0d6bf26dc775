"""Units of work that find the copies of a message.

Every spent key belongs to a row that holds that message's text, or says why it was refused.
`broken_promises` finds the keys for which that is not so.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from gateway.conversation import InboundMessage
from gateway.store.connection import Connection, Row
from gateway.store.records import BrokenPromise
from gateway.store.units.rows import listed

_ANOTHER = "it was spent with another message"

_BROKEN = f"""
    SELECT * FROM (SELECT d.key, d.inbox, i.thread, i.message_id,
     CASE
      WHEN i.id IS NULL THEN 'it belongs to no message'
      WHEN i.outcome = 'refused' AND i.reason = '' THEN 'its message was refused without a reason'
      WHEN i.outcome <> 'refused' AND i.kind <> 'edit' AND i.text IS NULL
       THEN 'the text of its message is gone'
      WHEN i.outcome IN ('turn', 'merged') AND i.kind = 'message' AND i.turn IS NULL
       THEN 'its message was taken by a turn that is gone'
      WHEN d.key LIKE '%/create/%' AND i.message_id <> '' AND i.missed <> 2
       AND substr(d.key, length(d.key) - length(i.message_id) - 8)
        <> '/create/' || i.message_id || '/'
       THEN '{_ANOTHER}'
     END AS fault
    FROM dedupe d LEFT JOIN inbox i ON i.id = d.inbox) AS spent
    WHERE fault IS NOT NULL ORDER BY inbox, key
"""


def owners(connection: Connection, message: InboundMessage) -> Sequence[Row]:
    """The rows that have the message's keys, each with the key."""
    names, keys = listed("key", message.dedupe)
    return connection.fetch(
        "SELECT d.key, i.id, i.thread, i.outcome, i.reply, i.message_id, i.text"
        f" FROM dedupe d JOIN inbox i ON i.id = d.inbox WHERE d.key IN {names}",
        keys,
    )


def find_copy(owners: Sequence[Row], message: InboundMessage) -> Row | None:
    """The message's row among these, if it was taken before.

    Its first key is its own. A row with another of its keys may be of another message.
    """
    own = next((row for row in owners if row["key"] == message.dedupe[0]), None)
    return own or next((row for row in owners if not _differs(row, message)), None)


def is_repeated(owners: Sequence[Row], message: InboundMessage) -> bool:
    """True if another message among these says the same.

    A person's app sends again what it believes to be lost; Slack may give that another number, and
    the same `client_msg_id`.
    """
    return any(row["text"] == message.text and _differs(row, message) for row in owners)


def _differs(row: Row, message: InboundMessage) -> bool:
    return bool(
        row["message_id"] and message.message_id and row["message_id"] != message.message_id
    )


def broken_promises(connection: Connection) -> list[BrokenPromise]:
    """Spent keys whose message is nowhere, each with its fault.

    It looks through all keys. In a store that was never damaged it finds none.
    """
    return [
        BrokenPromise(key=row["key"], inbox=row["inbox"], thread=row["thread"], fault=row["fault"])
        for row in connection.fetch(_BROKEN)
        if row["fault"] != _ANOTHER or not _is_quoted(row["key"], row["message_id"])
    ]


def _is_quoted(key: str, message_id: str) -> bool:
    """True if the key names this message, whose id needs quoting there."""
    return key.endswith(f"/create/{quote(message_id, safe='')}/")
