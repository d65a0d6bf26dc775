"""What a store of an older format knows once it was brought up to date."""

from gateway.content.attachments import MISSING
from gateway.store.connection import Connection
from gateway.store.sqlite.migrate import migrations
from gateway.store.sqlite.store import SqliteStore
from gateway.store.turn_records import ClaimedTurn


async def test_messages_of_an_older_format_that_came_with_files_are_known_as_such(tmp_path):
    old = SqliteStore(tmp_path, steps={n: text for n, text in migrations().items() if n < 4})
    message = "INSERT INTO inbox (id, conversation, kind, outcome, author, author_name, quotes,"
    values = "'k', 'message', 'turn', 'x', 'X'"

    def fill(connection: Connection) -> None:
        for n, quotes in enumerate(["[]", '[{"text": "a"}]', "[]"]):
            connection.execute(
                f"{message} received_at) VALUES (:id, {values}, :quotes, 1)",
                {"id": n + 1, "quotes": quotes},
            )
        connection.execute("INSERT INTO attachments VALUES (3, 0, 'a', 'b', 'c', x'00')")

    async with old.own():
        await old.write(fill)
    new = SqliteStore(tmp_path)
    async with new.own():
        marks = await new.write(
            lambda c: c.fetch("SELECT group_concat(untrusted) FROM inbox")[0][0]
        )
    assert marks == "0,1,1"


async def test_what_a_team_had_been_told_under_an_older_format_is_not_told_again(tmp_path):
    old = SqliteStore(tmp_path, steps={n: text for n, text in migrations().items() if n < 6})

    def fill(connection: Connection) -> None:
        connection.execute(
            "INSERT INTO threads (id, key, team, definition, created_at, updated_at)"
            " VALUES ('t', 'local////t', 'demo', '1', 1, 1)"
        )
        for n, delivered in enumerate((1, 0), start=1):
            connection.execute(
                "INSERT INTO turns (id, thread, n, status, author, destination, delivered,"
                " started_at) VALUES (:id, 't', :n, 'failed', 'x', 'local////t', :delivered, 1)",
                {"id": f"u{n}", "n": n, "delivered": delivered},
            )
            connection.execute(
                "INSERT INTO inbox (conversation, thread, turn, kind, outcome, author, author_name,"
                " text, untrusted, received_at)"
                " VALUES ('local////t', 't', :turn, 'message', 'turn', 'x', 'X', :text, 1, 7)",
                {"turn": f"u{n}", "text": f"message {n}"},
            )
        connection.execute(
            "INSERT INTO inbox (conversation, thread, kind, outcome, author, author_name, text,"
            " received_at) VALUES ('local////t', 't', 'message', 'queued', 'x', 'X', 'next', 8)"
        )

    async with old.own():
        await old.write(fill)
    new = SqliteStore(tmp_path)
    async with new.own():
        work = await new.begin("t", "boot", words=MISSING)
    assert isinstance(work, ClaimedTurn)
    assert [message.text for message in work.messages] == ["message 2", "next"]
    assert work.untrusted
