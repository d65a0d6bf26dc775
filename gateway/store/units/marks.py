"""Units of work for marks: adapters' short texts between runs."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.conversation import ConversationKey
from gateway.store.connection import Connection


def mark(
    connection: Connection,
    platform: str,
    name: str,
    value: str,
    *,
    of: ConversationKey | None = None,
) -> None:
    """Keep a text, unless its conversation is unknown.

    It replaces an earlier one of this name.
    """
    connection.execute(
        "INSERT INTO marks (platform, name, value, conversation)"
        " SELECT :platform, :name, :value, :conversation WHERE :conversation IS NULL"
        " OR EXISTS (SELECT 1 FROM threads WHERE key = :conversation)"
        " ON CONFLICT (platform, name) DO UPDATE"
        " SET value = excluded.value, conversation = excluded.conversation",
        {
            "platform": platform,
            "name": name,
            "value": value,
            "conversation": None if of is None else str(of),
        },
    )


def marks(connection: Connection, platform: str) -> Mapping[str, str]:
    """The texts that a platform's adapter keeps, by their names."""
    rows = connection.fetch(
        "SELECT name, value FROM marks WHERE platform = :platform", {"platform": platform}
    )
    return {row["name"]: row["value"] for row in rows}
