"""Units of work that read messages for the adapters they came from."""

from __future__ import annotations

from collections.abc import Collection

from gateway.conversation import ConversationKey, RecentMessage
from gateway.store.connection import Connection, listed, scalar

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
)
SELECT conversation, message_id, link FROM said WHERE n <= :each ORDER BY order_key
"""

KEYS = 500
"""Dedupe keys that are looked up at once."""


def accepted_keys(connection: Connection, keys: Collection[str]) -> frozenset[str]:
    """Those of these dedupe keys whose messages were taken."""
    found: set[str] = set()
    asked = [*keys]
    for begin in range(0, len(asked), KEYS):
        names, parameters = listed("key", asked[begin : begin + KEYS])
        rows = connection.fetch(f"SELECT key FROM dedupe WHERE key IN {names}", parameters)
        found.update(row["key"] for row in rows)
    return frozenset(found)


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
    return [
        RecentMessage(
            key=ConversationKey.parse(row["conversation"]),
            message_id=row["message_id"],
            link=row["link"],
        )
        for row in rows
    ]


def link_of(connection: Connection, turn: str) -> str:
    """A link to the message of the turn; "" without one."""
    link = scalar(
        connection,
        "SELECT link FROM inbox WHERE turn = :turn AND link <> '' ORDER BY id LIMIT 1",
        {"turn": turn},
    )
    return link or ""
