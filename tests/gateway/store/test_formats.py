"""What a store of an older format knows once it was brought up to date."""

import sqlite3

from gateway.store import SqliteStore
from gateway.store.versions import migrations


async def test_messages_of_an_older_format_that_came_with_files_are_known_as_such(tmp_path):
    old = SqliteStore(tmp_path, steps={n: text for n, text in migrations().items() if n < 4})
    message = "INSERT INTO inbox (id, conversation, kind, outcome, author, author_name, quotes,"
    values = "'k', 'message', 'turn', 'x', 'X'"

    def fill(connection: sqlite3.Connection) -> None:
        for n, quotes in enumerate(["[]", '[{"text": "a"}]', "[]"]):
            connection.execute(
                f"{message} received_at) VALUES (?, {values}, ?, 1)", (n + 1, quotes)
            )
        connection.execute("INSERT INTO attachments VALUES (3, 0, 'a', 'b', 'c', x'00')")

    async with old.own():
        await old.write(fill)
    new = SqliteStore(tmp_path)
    async with new.own():
        marks = await new.write(
            lambda c: c.execute("SELECT group_concat(untrusted) FROM inbox").fetchone()[0]
        )
    assert marks == "0,1,1"
