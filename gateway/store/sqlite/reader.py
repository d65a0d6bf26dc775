"""The queries of the embedded store: of its owner, and of who stands beside it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from gateway.base.calendar import CalendarWindow, Scope, window_start
from gateway.conversation import Awaiting, ConversationKey, SaidLately
from gateway.errors import NotFound, StoreUnreadable
from gateway.events import SessionEvent, load_event
from gateway.outbox import Delivery
from gateway.store.records import (
    NOTHING_USED,
    AuditRow,
    Checkpoint,
    Counts,
    OldState,
    OpenMessage,
    Person,
    Request,
    Thread,
    Used,
)
from gateway.store.sqlite.migrate import known_version, migrations
from gateway.store.sqlite.readers import Readers, fold
from gateway.store.sqlite.writer import translate
from gateway.store.units import awaited_files as awaited
from gateway.store.units import deletion as upkeep
from gateway.store.units import outbox, people, requests, usage
from gateway.store.units.rows import (
    REQUEST_COLUMNS,
    THREADS,
    open_message_of,
    request_of,
    thread_of,
)

FILE = "parley.db"

T = TypeVar("T")

_SHOWN_WINDOWS: Mapping[str, CalendarWindow] = {"today": "day", "this month": "month"}

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


class SqliteReader:
    """A SessionReader of the store in `folder`.

    Who does not own the store opens a connection for each query: no idle thread is left that could
    hold the process at its end, and no reader stays in the way of a checkpoint.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        steps: Mapping[int, str] | None = None,
    ) -> None:
        self._folder = folder.absolute()
        self._clock = clock
        self._steps = migrations() if steps is None else steps
        self._readers: Readers | None = None

    @property
    def folder(self) -> Path:
        """Where everything lies."""
        return self._folder

    async def threads(self, *, search: str = "", limit: int = 50, offset: int = 0) -> list[Thread]:
        """Threads, the last used first; `search` looks into titles and texts."""
        rows = await self._rows(
            f"{THREADS} WHERE :search = '' OR instr(fold(title), :search)"
            " OR EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND instr(fold(text), :search))"
            " OR EXISTS (SELECT 1 FROM events WHERE thread = t.id AND kind = 'message_finished'"
            " AND instr(fold(json_extract(body, '$.text')), :search))"
            " ORDER BY updated_at DESC, rowid DESC LIMIT :limit OFFSET :offset",
            {"search": search.casefold(), "limit": limit, "offset": offset},
        )
        return [thread_of(row) for row in rows]

    async def thread(self, thread: str) -> Thread:
        """One thread. Raises NotFound."""
        rows = await self._rows(f"{THREADS} WHERE t.id = ?", (thread,))
        if not rows:
            raise NotFound(f"There is no thread {thread!r}.")
        return thread_of(rows[0])

    async def thread_at(self, key: ConversationKey) -> Thread | None:
        """The thread in which a conversation goes on, None for one that is not known."""
        rows = await self._rows(f"{THREADS} WHERE t.key = ? AND t.current", (str(key),))
        return thread_of(rows[0]) if rows else None

    async def threads_of(self, person: str) -> list[Thread]:
        """The threads in which this person has written, asked or answered."""
        rows = await self._rows(
            f"{THREADS} WHERE t.id IN ({upkeep.THREADS_OF}) ORDER BY t.updated_at DESC",
            {"person": person},
        )
        return [thread_of(row) for row in rows]

    async def outdated(self, definitions: Mapping[str, str]) -> list[Thread]:
        """The threads whose team has another definition than here, or none."""
        rows = await self._rows(
            f"{THREADS} WHERE NOT EXISTS (SELECT 1 FROM json_each(?)"
            " WHERE key = t.team AND value = t.definition) ORDER BY updated_at DESC",
            (json.dumps(dict(definitions)),),
        )
        return [thread_of(row) for row in rows]

    async def taken(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken."""
        query = "SELECT key FROM dedupe WHERE key IN (SELECT value FROM json_each(?))"
        return frozenset(row["key"] for row in await self._rows(query, (json.dumps([*keys]),)))

    async def said_lately(
        self, platform: str, workspace: str, since: float, *, threads: int = 20, each: int = 50
    ) -> list[SaidLately]:
        """The newest messages of a workspace's threads that were used last; see SessionReader."""
        rows = await self._rows(
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
            SaidLately(
                key=ConversationKey.parse(row["conversation"]),
                message_id=row["message_id"],
                link=row["link"],
            )
            for row in rows
        ]

    async def awaiting(self, platform: str) -> list[Awaiting]:
        """The messages from a platform that wait for their files."""
        rows = await self._rows(
            "SELECT * FROM inbox WHERE awaits IS NOT NULL AND outcome = 'queued' ORDER BY id", ()
        )
        found = [awaited.awaiting(row) for row in rows]
        return [each for each in found if each.key.platform == platform]

    async def events(self, thread: str, *, after: int = 0, limit: int = 500) -> list[SessionEvent]:
        """The first `limit` events after a seq."""
        rows = await self._rows(
            "SELECT body FROM events WHERE thread = ? AND seq > ? ORDER BY seq LIMIT ?",
            (thread, after, limit),
        )
        return [load_event(row["body"]) for row in rows]

    async def open_messages(self, thread: str) -> list[OpenMessage]:
        """What was shown of messages that are not finished."""
        rows = await self._rows(
            "SELECT * FROM open_messages WHERE thread = ? ORDER BY rowid", (thread,)
        )
        return [open_message_of(row) for row in rows]

    async def request(self, request: str) -> Request:
        """One request. Raises NotFound."""
        rows = await self._rows(f"SELECT {REQUEST_COLUMNS} WHERE r.id = ?", (request,))
        if not rows:
            raise NotFound(f"There is no request {request!r}.")
        return request_of(rows[0])

    async def audit(self, thread: str) -> list[AuditRow]:
        """What was decided about the thread's requests and grants, by whom, in its order."""
        rows = await self._rows("SELECT * FROM audit WHERE thread = ? ORDER BY id", (thread,))
        return [requests.audit_row_of(row) for row in rows]

    async def checkpoints(self, thread: str) -> list[Checkpoint]:
        """The newest snapshot and the deltas after it."""
        rows = await self._rows(
            "SELECT kind, data FROM checkpoints WHERE thread = ? ORDER BY n", (thread,)
        )
        return [Checkpoint(kind=row["kind"], data=row["data"]) for row in rows]

    async def old_states(self, thread: str) -> list[OldState]:
        """What teams remembered that were replaced in this thread, the oldest first."""
        rows = await self._rows(
            "SELECT * FROM old_states WHERE thread = ? ORDER BY replaced_at, n", (thread,)
        )
        return [
            OldState(
                definition=definition,
                replaced_at=replaced_at,
                checkpoints=tuple(Checkpoint(kind=r["kind"], data=r["data"]) for r in found),
            )
            for (replaced_at, definition), found in groupby(
                rows, key=lambda row: (row["replaced_at"], row["definition"])
            )
        ]

    async def people(self) -> list[Person]:
        """Who was let in with a code, the first ones first."""
        rows = await self._rows("SELECT * FROM people ORDER BY paired_at, person", ())
        return [
            Person(id=row["person"], name=row["name"], paired_at=row["paired_at"]) for row in rows
        ]

    async def feedback(self, thread: str) -> Mapping[str, int]:
        """How many have called an answer of the thread "good" or "bad"."""
        rows = await self._rows(people.COUNT_FEEDBACK, {"thread": thread})
        return {row["value"]: row["n"] for row in rows}

    async def tokens(self) -> list[sqlite3.Row]:
        """The platforms' tokens, encrypted: name, key_id and value."""
        return await self._rows("SELECT name, key_id, value FROM tokens ORDER BY name", ())

    async def marks(self, platform: str) -> Mapping[str, str]:
        """What a platform's adapter keeps from one run to the next, by its names."""
        rows = await self._rows("SELECT name, value FROM marks WHERE platform = ?", (platform,))
        return {row["name"]: row["value"] for row in rows}

    async def counts(self) -> Counts:
        """Figures over all threads."""

        def group(table: str, column: str) -> str:
            return (
                f"SELECT '{table}' AS name, {column} AS value, COUNT(*) AS n"
                f" FROM {table} GROUP BY {column}"
            )

        groups = (
            ("threads", "state"),
            ("inbox", "outcome"),
            ("turns", "status"),
            ("requests", "state"),
            ("outbox", "status"),
        )
        refused = (
            "SELECT 'refused' AS name, reason AS value, COUNT(*) AS n FROM inbox"
            " WHERE outcome = 'refused' GROUP BY reason"
        )
        queries = [refused, people.COUNT_FEEDBACK, *(group(*names) for names in groups)]
        rows = await self._rows(" UNION ALL ".join(queries), {"thread": ""})
        names = ("refused", "feedback", *(table for table, _ in groups))
        found: dict[str, dict[str, int]] = {name: {} for name in names}
        for row in rows:
            found[row["name"]][row["value"]] = row["n"]
        used = {
            name: await self.spent(None, "", window_start(window, self._clock()))
            for name, window in _SHOWN_WINDOWS.items()
        }
        return Counts(
            threads=found["threads"],
            inbox=found["inbox"],
            refused=found["refused"],
            turns=found["turns"],
            open_requests=found["requests"].get("open", 0),
            tokens={name: each.tokens for name, each in used.items()},
            cost={name: each.cost for name, each in used.items()},
            outbox=found["outbox"],
            feedback=found["feedback"],
        )

    async def spent(self, scope: Scope | None, name: str, since: float) -> Used:
        """What was used since then, in the scope of this name or by everybody."""
        rows = await self._rows(*usage.spent_query(scope, name, since))
        return usage.used_of(rows[0]) if rows else NOTHING_USED

    async def untold(self, platform: str) -> list[str]:
        """The threads of a platform of which something is not told there yet."""
        prefix = str(ConversationKey(platform=platform)).partition("/")[0] + "/"
        rows = await self._rows(outbox.UNTOLD, {"prefix": prefix})
        return [row["id"] for row in rows]

    async def delivery(self, thread: str) -> Delivery:
        """How far a thread is told on its platform, and what of it stands there."""
        known = await self._rows("SELECT told, gone FROM deliveries WHERE thread = ?", (thread,))
        rows = await self._rows(
            "SELECT * FROM outbox WHERE thread = ? ORDER BY item, n, generation", (thread,)
        )
        return Delivery(
            told=known[0]["told"] if known else 0,
            gone=known[0]["gone"] if known else "",
            rows=tuple(map(outbox.outbox_row_of, rows)),
        )

    async def link_of(self, turn: str) -> str:
        """A link to what the turn works on; "" if there is none."""
        rows = await self._rows(
            "SELECT link FROM inbox WHERE turn = ? AND link <> '' ORDER BY id LIMIT 1", (turn,)
        )
        return rows[0]["link"] if rows else ""

    async def _rows(
        self, query: str, parameters: tuple[Any, ...] | dict[str, Any]
    ) -> list[sqlite3.Row]:
        path = self._folder / FILE
        if self._readers is not None:
            return await translated(self._readers.rows(query, parameters), path)
        if not _is_there(path):
            return []
        return await translated(self._read(path, query, parameters), path)

    async def _read(
        self, path: Path, query: str, parameters: tuple[Any, ...] | dict[str, Any]
    ) -> list[sqlite3.Row]:
        """As somebody who does not own the store."""
        async with aiosqlite.connect(path, isolation_level=None) as connection:
            connection.row_factory = sqlite3.Row
            await connection.create_function(  # pyright: ignore[reportUnknownMemberType]
                "fold", 1, fold, deterministic=True
            )
            await connection.execute("PRAGMA query_only = ON")
            await connection.execute("PRAGMA busy_timeout = 5000")
            await known_version(connection, path, max(self._steps, default=1))
            return list(await connection.execute_fetchall(query, parameters))


def _is_there(path: Path) -> bool:
    """Whether there is a store to read. Raises StoreUnreadable."""
    try:
        with path.open("rb"):
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreUnreadable(
            f"The store {str(path)!r} can't be read: {error.strerror}. Whoever runs Parley may; "
            "`folder` in [store] says where it is."
        ) from error


async def translated(work: Awaitable[T], path: Path) -> T:
    """What `work` returns; an error of SQLite's as one of the gateway's about the store there."""
    try:
        return await work
    except sqlite3.Error as error:
        raise translate(error, path) from error
