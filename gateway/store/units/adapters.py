"""Units of work for what adapters keep: marks, and encrypted tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gateway.conversation import ConversationKey
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.records import EncryptedToken
from gateway.store.units.audit import note
from gateway.store.units.rows import scalar
from gateway.store.value_rows import Table, insert, rows_as

OWN = "gateway"
"""In the place of a platform: the gateway keeps it for itself."""
TOKENS = Table("tokens", EncryptedToken, key=("name",), columns={"key": "key_id"})


@writes
def mark(
    connection: Connection,
    platform: str,
    name: str,
    value: str,
    *,
    of: ConversationKey | None = None,
) -> None:
    """Keep or replace a text, unless its conversation is unknown."""
    connection.execute(
        "INSERT INTO marks (platform, name, value, conversation)"
        " SELECT :platform, :name, :value, :conversation WHERE COALESCE(:conversation, '') = ''"
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


@reads
def marks(connection: Connection, platform: str, name: str = "") -> Mapping[str, str]:
    """The texts that an adapter keeps, or that of `name`."""
    rows = connection.fetch(
        "SELECT name, value FROM marks WHERE platform = :platform"
        + (" AND name = :name" if name else ""),
        {"platform": platform} | ({"name": name} if name else {}),
    )
    return {row["name"]: row["value"] for row in rows}


def own_mark(connection: Connection, name: str) -> str | None:
    """A text that is the gateway's own, as no adapter's."""
    query = "SELECT value FROM marks WHERE platform = :platform AND name = :name"
    return scalar(connection, query, {"platform": OWN, "name": name})


def take_own_mark(connection: Connection, name: str) -> str | None:
    """A text that is the gateway's own, kept no longer."""
    text = own_mark(connection, name)
    statement = "DELETE FROM marks WHERE platform = :platform AND name = :name"
    connection.execute(statement, {"platform": OWN, "name": name})
    return text


@reads
def tokens(connection: Connection) -> list[EncryptedToken]:
    """All tokens, by their names."""
    rows = connection.fetch("SELECT name, key_id, value FROM tokens ORDER BY name")
    return [*map(rows_as(EncryptedToken, key="key_id"), rows)]


@writes
def put_tokens(connection: Connection, tokens: Collection[EncryptedToken]) -> None:
    """Keep these tokens, instead of earlier ones of their names."""
    for each in tokens:
        insert(connection, TOKENS, each, updated_at=connection.now)
        note(connection, "token.stored", person="", object=each.name, outcome=each.key)


@writes
def delete_token(connection: Connection, name: str) -> bool:
    """Forget a token; False if there was none."""
    found = connection.change("DELETE FROM tokens WHERE name = :name", {"name": name}) > 0
    if found:
        note(connection, "token.deleted", person="", object=name)
    return found
