"""Units of work for platforms' tokens, which arrive encrypted."""

from __future__ import annotations

from collections.abc import Collection

from gateway.store.connection import Connection
from gateway.store.records import EncryptedToken


def tokens(connection: Connection) -> list[EncryptedToken]:
    """All tokens, by their names."""
    rows = connection.fetch("SELECT name, key_id, value FROM tokens ORDER BY name")
    return [EncryptedToken(name=row["name"], key=row["key_id"], value=row["value"]) for row in rows]


def put_tokens(connection: Connection, now: float, tokens: Collection[EncryptedToken]) -> None:
    """Keep these tokens, instead of earlier ones of their names."""
    connection.many(
        "INSERT INTO tokens (name, key_id, value, updated_at) VALUES (:name, :key, :value, :now)"
        " ON CONFLICT (name) DO UPDATE SET key_id = excluded.key_id, value = excluded.value,"
        " updated_at = excluded.updated_at",
        [{"name": each.name, "key": each.key, "value": each.value, "now": now} for each in tokens],
    )


def delete_token(connection: Connection, name: str) -> bool:
    """Forget a token; False if there was none."""
    return connection.execute("DELETE FROM tokens WHERE name = :name", {"name": name}) > 0
