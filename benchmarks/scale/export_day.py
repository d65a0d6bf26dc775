"""Write the day of a store as CSV.

    python -m benchmarks.scale.export_day STORE [DATE] > day.csv

STORE is the file of a store on SQLite (`parley.db`), or the address of a database; DATE is
2026-11-26, by default yesterday, in UTC. Others on this machine can read a password in the address,
so give that in PGPASSWORD. Times, numbers of tokens and numbered places are written: no text, no
name and no id.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Hashable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.scale.day import DAY, Said, write_day
from gateway.conversation import ConversationKey

QUERY = """
SELECT inbox.received_at, inbox.conversation, inbox.author, inbox.kind, (
    SELECT coalesce(sum(completion_tokens), 0) FROM usage
    WHERE usage.thread = inbox.thread AND usage.turn = inbox.turn AND inbox.outcome = 'turn')
FROM inbox WHERE inbox.received_at >= {0} AND inbox.received_at < {0} + 86400
AND inbox.outcome <> 'refused' AND inbox.kind IN ('message', 'answer', 'command') ORDER BY inbox.id
"""


def main() -> None:
    """Read the command line, and write."""
    store, *rest = sys.argv[1:] or sys.exit(str(__doc__))
    chosen = date.fromisoformat(rest[0]) if rest else datetime.now(UTC).date() - timedelta(1)
    since = datetime.combine(chosen, datetime.min.time(), UTC).timestamp()
    write_day(Path("/dev/stdout"), said_in(rows_of(store, since), since))


def rows_of(store: str, since: float) -> list[Any]:
    """The rows of a day in a store."""
    if "://" in store:
        import psycopg  # here, as SQLite needs nothing of it

        with psycopg.connect(store) as server:
            return server.execute(QUERY.format(float(since)).encode()).fetchall()
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as file:
        return file.execute(QUERY.format(float(since))).fetchall()


def said_in(rows: Iterable[Any], since: float) -> Iterator[Said]:
    """The messages of rows, with numbers for names."""
    numbers: dict[Hashable, int] = {}

    def number(*name: str) -> int:
        return numbers.setdefault(name, len(numbers) + 1)

    for at, conversation, author, kind, tokens in rows:
        key = ConversationKey.parse(conversation)
        place = (key.platform, key.workspace)
        if 0 <= at - since < DAY and key.platform in ("slack", "discord"):
            yield Said(
                at - since,
                key.platform,
                number("workspace", *place),
                number("channel", *place, key.channel),
                number("thread", conversation),
                number("person", author),
                kind,
                int(tokens),
            )


if __name__ == "__main__":
    main()
