"""A store in files with rows in each of its tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from gateway.access.authority import Access
from gateway.client import Answer
from gateway.conversation import Attachment, Author, ConversationKey, InboundMessage
from gateway.events import InputRequested
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.store.sqlite.store import FILE, SqliteStore
from tests.gateway.scripted import ScriptedTeams, calls, ends, of, solo, until

ANN = Author(id="chat:ann", name="Ann")
KEY = ConversationKey(platform="chat", channel="C", root="1")
ODD = "odd: \u2028 \U0001f600 \\N \\. \t \r\n 'quoted' \"twice\" \x7f \ufffd"
VALUES: dict[str, Any] = {
    "TEXT": ODD,
    "INTEGER": 1,
    "BOOLEAN": 1,
    "REAL": 0.1,
    "BLOB": b"\x00\\x\xff\n",
}


async def fill_store(folder: Path) -> None:
    """Let a team work there, and add rows where it leaves none."""

    async def send() -> str:
        """Send."""
        return "sent"

    teams = ScriptedTeams(
        lambda: solo(calls("send"), f"an answer {ODD}", tools=[send]),
        rules={"send": ToolRule(action="ask")},
    )
    file = Attachment(name="a.txt", media_type="text/plain", data=b"some text" * 500)
    async with Gateway(SqliteStore(folder), teams, access=Access([ANN.id])) as gateway:
        said = InboundMessage(
            key=KEY, author=ANN, text=ODD, dedupe=(KEY.dedupe("create", "1"),), attachments=(file,)
        )
        thread = (await gateway.accept(said)).thread
        events = await until(gateway, thread, ends)
        request = of(InputRequested, events)[-1].request
        await gateway.client.answer(request, Answer(kind="approve_always"))
        await until(gateway, thread, ends, events[-1].seq)
        await gateway.conversations.rate(thread, "part", ANN.id, good=True)
    with closing(sqlite3.connect(folder / FILE)) as raw, raw:
        raw.row_factory = sqlite3.Row
        for (table,) in raw.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            if not raw.execute(f"SELECT 1 FROM {table}").fetchall():
                _add_row(raw, table)
        # The last rows of numbered tables were deleted.
        raw.execute("UPDATE sqlite_sequence SET seq = seq + 10")


def _add_row(raw: sqlite3.Connection, table: str) -> None:
    parents = {
        row["from"]: raw.execute(f"SELECT {row['to']} FROM {row['table']}").fetchone()[0]
        for row in raw.execute(f"PRAGMA foreign_key_list({table})").fetchall()
    }
    columns = {
        row["name"]: parents.get(row["name"], VALUES[row["type"]])
        for row in raw.execute(f"PRAGMA table_info({table})").fetchall()
    }
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    raw.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(columns.values()))


def all_rows(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each table in their order, with their numbers."""
    with closing(sqlite3.connect(folder / FILE)) as raw:
        tables = raw.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: raw.execute(
                f"SELECT {'' if 'WITHOUT ROWID' in sql else 'rowid, '}* FROM {name} ORDER BY 1, 2"
            ).fetchall()
            for name, sql in tables
        }
