"""The embedded store: one SQLite file in a folder that only its owner may read.

store = SqliteStore(folder)
async with store.own():       # the one process that writes
    ...
await store.threads()         # reading needs no ownership
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from gateway.conversation import ConversationKey, InboundMessage
from gateway.counting import CalendarWindow, Scope, window_start
from gateway.errors import Closing, NotFound, StoreFull, StoreUnwritable
from gateway.events import SessionEvent, load_event
from gateway.store import claim, outbox, people, queue, requests, successions, turns, upkeep, usage
from gateway.store import inbox as messages
from gateway.store.backup import write_backup
from gateway.store.decisions import Accepted, Judge, NewThread
from gateway.store.lock import StoreLock
from gateway.store.readers import Readers
from gateway.store.records import (
    NOTHING_USED,
    AuditRow,
    Checkpoint,
    Counts,
    Delivery,
    InboxKind,
    OldState,
    OpenMessage,
    OutboxRow,
    Person,
    Request,
    Thread,
    Used,
)
from gateway.store.rows import REQUEST_COLUMNS, open_message_of, request_of, thread_of
from gateway.store.versions import bring_up_to_date, known_version, migrations
from gateway.store.work import (
    Joined,
    Later,
    Lease,
    Record,
    Recorded,
    Recovered,
    Settled,
    Succession,
    Work,
)
from gateway.store.writer import Writer, translate

LOG = logging.getLogger("gateway.store")

FILE = "parley.db"

_SHOWN_WINDOWS: Mapping[str, CalendarWindow] = {"today": "day", "this month": "month"}

T = TypeVar("T")


class SqliteStore:
    """A SessionStore in `folder`, which is made when it is first owned.

    Each read opens a connection of its own: no idle thread is left that could hold the process at
    its end, and no reader stays in the way of a checkpoint.
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
        self._writer: Writer | None = None
        self._readers: Readers | None = None

    @property
    def folder(self) -> Path:
        """Where everything lies."""
        return self._folder

    @property
    def commits(self) -> int:
        """How many transactions this owner has committed."""
        return self._writer.commits if self._writer else 0

    @asynccontextmanager
    async def own(self) -> AsyncGenerator[None]:
        """Be its only owner. Raises StoreInUse, StoreUnwritable, StoreTooNew, StoreCorrupt or
        StoreFull.
        """
        lock = StoreLock(self._folder)
        self._prepare(lock)
        try:
            await _translated(bring_up_to_date(self._folder / FILE, self._steps))
            writer = Writer(lambda: _connect(self._folder / FILE))
            await _translated(writer.start())
            self._writer = writer
            self._readers = Readers(lambda: _reading(self._folder / FILE))
            try:
                await self._sweep()
                yield
            finally:
                self._readers.close()
                self._readers = self._writer = None
                await writer.close()
        finally:
            lock.release()

    def _prepare(self, lock: StoreLock) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
            lock.acquire()
            # SQLite gives its -wal and -shm files the permissions of this one.
            os.close(os.open(self._folder / FILE, os.O_CREAT | os.O_RDWR, 0o600))
            (self._folder / FILE).chmod(0o600)
        except OSError as error:
            lock.release()
            if error.errno == errno.ENOSPC:
                raise StoreFull from error
            raise StoreUnwritable(
                f"The store {str(self._folder)!r} can't be written: {error.strerror}."
            ) from error

    async def write(
        self, unit: Callable[[sqlite3.Connection], T], then: Callable[[T], None] | None = None
    ) -> T:
        """Run a unit of work as one transaction; see `Writer.write`."""
        if self._writer is None:
            raise Closing
        return await self._writer.write(unit, then)

    async def create_thread(
        self, new: NewThread, *, key: ConversationKey, title: str = ""
    ) -> Thread:
        """Make a thread."""
        now = self._clock()
        return await self.write(lambda c: messages.create_thread(c, new, key, title, now))

    async def rename_thread(self, thread: str, title: str) -> list[SessionEvent]:
        """Give a thread another title. Raises NotFound."""
        now = self._clock()
        return await self.write(lambda c: messages.rename_thread(c, thread, title, now))

    async def delete_thread(self, thread: str) -> None:
        """Remove everything of a thread. Raises NotFound."""
        await self.write(lambda c: upkeep.delete_thread(c, thread))
        await self._removed([thread])

    async def delete_person(self, person: str) -> list[str]:
        """Remove whatever is known of a person; see SessionStore."""
        threads = await self.write(lambda c: upkeep.delete_person(c, person))
        await self._removed(threads)
        return threads

    async def expire(self, before: float) -> list[str]:
        """Remove the threads that were last used before this time; see SessionStore."""
        threads = await self.write(lambda c: upkeep.expire(c, before))
        if threads:
            await self._removed(threads)
        return threads

    async def _removed(self, threads: list[str]) -> None:
        """Remove from the disk what the database has let go of."""
        await asyncio.to_thread(self._remove_files, threads)
        if self._writer is not None and not await self._writer.empty_log():
            LOG.warning("a reader kept what was deleted in the write-ahead log a little longer")

    def _remove_files(self, threads: list[str]) -> None:
        for thread in threads:
            shutil.rmtree(self._work_folder(thread), ignore_errors=True)
        # The copies from before a migration hold what was said until then.
        for copy in self._folder.glob("parley.v*.db"):
            copy.unlink(missing_ok=True)

    async def _sweep(self) -> None:
        """Remove the work folders that a crash left behind when their threads were deleted."""
        rows = await self._rows("SELECT id FROM threads", ())
        kept = {row["id"] for row in rows}
        await asyncio.to_thread(self._remove_others, kept)

    def _remove_others(self, kept: set[str]) -> None:
        folders = self._folder / "work"
        for folder in folders.iterdir() if folders.is_dir() else ():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    async def probe(self) -> None:
        """Write what stands there already. Raises the GatewayError that a write would."""
        await self.write(_rewrite_version)

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file; see SessionStore."""
        await write_backup(self._folder / FILE, path)

    async def work_folder(self, thread: str) -> Path:
        """Where the thread's tools may write; made if it is not there, removed with the thread."""
        folder = self._work_folder(thread)
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        return folder

    def _work_folder(self, thread: str) -> Path:
        return self._folder / "work" / thread

    async def accept(
        self,
        message: InboundMessage,
        judge: Judge,
        *,
        new: NewThread,
        kind: InboxKind,
        named: str = "",
        then: Callable[[Accepted], None],
    ) -> Accepted:
        """Take a message once; see SessionStore."""
        now = self._clock()
        accepted = await self.write(
            lambda c: messages.accept(c, message, judge, new, kind, named, now), then
        )
        if accepted.forgotten:
            await self._removed([accepted.forgotten])
        return accepted

    async def withdraw(self, thread: str, inbox: int) -> tuple[str, list[SessionEvent]] | None:
        """Take back a message that still waits."""
        now = self._clock()
        return await self.write(lambda c: queue.withdraw(c, thread, inbox, now))

    async def redeem(self, hashed: Callable[[bytes], bytes]) -> Person | None:
        """Let in whose waiting code it is; see SessionStore."""
        now = self._clock()
        return await self.write(lambda c: people.redeem(c, hashed, now))

    async def unpair(self, person: str) -> bool:
        """Shut somebody out again who was let in; False if they were not."""
        return await self.write(lambda c: people.unpair(c, person))

    async def outdated(self, definitions: Mapping[str, str]) -> list[Thread]:
        """The threads whose team has another definition than here, or none."""
        rows = await self._rows(
            "SELECT * FROM threads AS t WHERE NOT EXISTS (SELECT 1 FROM json_each(?)"
            " WHERE key = t.team AND value = t.definition) ORDER BY updated_at DESC",
            (json.dumps(dict(definitions)),),
        )
        return [thread_of(row) for row in rows]

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

    async def threads_of(self, person: str) -> list[Thread]:
        """The threads in which this person has written, asked or answered."""
        rows = await self._rows(
            f"SELECT * FROM threads WHERE id IN ({upkeep.THREADS_OF}) ORDER BY updated_at DESC",
            {"person": person},
        )
        return [thread_of(row) for row in rows]

    async def people(self) -> list[Person]:
        """Who was let in with a code, the first ones first."""
        rows = await self._rows("SELECT * FROM people ORDER BY paired_at, person", ())
        return [
            Person(id=row["person"], name=row["name"], paired_at=row["paired_at"]) for row in rows
        ]

    async def tokens(self) -> list[sqlite3.Row]:
        """The platforms' tokens, encrypted: name, key_id and value."""
        return await self._rows("SELECT name, key_id, value FROM tokens ORDER BY name", ())

    async def marks(self, platform: str) -> Mapping[str, str]:
        """What a platform's adapter keeps from one run to the next, by its names."""
        rows = await self._rows("SELECT name, value FROM marks WHERE platform = ?", (platform,))
        return {row["name"]: row["value"] for row in rows}

    async def mark(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Keep a text for a platform's adapter; see SessionStore."""
        conversation = None if of is None else str(of)
        await self.write(lambda c: _mark(c, platform, name, value, conversation))

    async def rate(self, thread: str, part: str, person: str, *, good: bool) -> None:
        """Keep what a person says about a part of a thread's answer. Raises NotFound."""
        now = self._clock()
        await self.write(lambda c: people.rate(c, thread, part, person, good=good, now=now))

    async def recover(self, boot: str) -> list[Recovered]:
        """Judge what earlier boots left behind."""
        now = self._clock()
        return await self.write(lambda c: turns.recover(c, boot, now))

    async def begin(self, thread: str, boot: str, *, quiet: float = 0.0) -> Work | Later | None:
        """Claim the thread and its next turn; see SessionStore."""
        now = self._clock()
        work = await self.write(lambda c: claim.begin(c, thread, boot, now, quiet))
        return replace(work, folder=self._work_folder(thread)) if isinstance(work, Work) else work

    async def join(self, lease: Lease) -> Joined:
        """Take what waits into the turn; see SessionStore. Raises Fenced."""
        now = self._clock()
        return await self.write(lambda c: claim.join(c, lease, now))

    async def settle_due(self, may_answer: Callable[[Request], tuple[str, ...]]) -> Settled:
        """Let requests expire whose time is over, and remind of those that are open for long."""
        now = self._clock()
        return await self.write(lambda c: requests.settle_due(c, may_answer, now))

    async def audit(self, thread: str) -> list[AuditRow]:
        """What was decided about the thread's requests and grants, by whom, in its order."""
        rows = await self._rows("SELECT * FROM audit WHERE thread = ? ORDER BY id", (thread,))
        return [requests.audit_row_of(row) for row in rows]

    async def succeed(self, lease: Lease, succession: Succession) -> tuple[SessionEvent, ...]:
        """Note how the thread's team goes on. Raises Fenced."""
        now = self._clock()
        return await self.write(lambda c: successions.succeed(c, lease, succession, now))

    async def withdraw_questions(
        self, threads: Collection[str]
    ) -> Mapping[str, tuple[SessionEvent, ...]]:
        """End the turns of these threads that wait for answers; what this adds to each."""
        now = self._clock()
        return await self.write(lambda c: successions.withdraw_questions(c, threads, now))

    async def record(self, lease: Lease, record: Record) -> Recorded:
        """Add to a turn. Raises Fenced."""
        now = self._clock()
        return await self.write(lambda c: turns.record(c, lease, record, now))

    async def threads(self, *, search: str = "", limit: int = 50, offset: int = 0) -> list[Thread]:
        """Threads, the last used first; `search` looks into titles and texts."""
        rows = await self._rows(
            "SELECT * FROM threads AS t WHERE :search = '' OR instr(fold(title), :search)"
            " OR EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND instr(fold(text), :search))"
            " OR EXISTS (SELECT 1 FROM events WHERE thread = t.id AND kind = 'message_finished'"
            " AND instr(fold(json_extract(body, '$.text')), :search))"
            " ORDER BY updated_at DESC, rowid DESC LIMIT :limit OFFSET :offset",
            {"search": search.casefold(), "limit": limit, "offset": offset},
        )
        return [thread_of(row) for row in rows]

    async def thread(self, thread: str) -> Thread:
        """One thread. Raises NotFound."""
        rows = await self._rows("SELECT * FROM threads WHERE id = ?", (thread,))
        if not rows:
            raise NotFound(f"There is no thread {thread!r}.")
        return thread_of(rows[0])

    async def thread_at(self, key: ConversationKey) -> Thread | None:
        """The thread in which a conversation goes on, None for one that is not known."""
        rows = await self._rows("SELECT * FROM threads WHERE key = ? AND current", (str(key),))
        return thread_of(rows[0]) if rows else None

    async def taken(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken."""
        query = "SELECT key FROM dedupe WHERE key IN (SELECT value FROM json_each(?))"
        return frozenset(row["key"] for row in await self._rows(query, (json.dumps([*keys]),)))

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

    async def checkpoints(self, thread: str) -> list[Checkpoint]:
        """The newest snapshot and the deltas after it."""
        rows = await self._rows(
            "SELECT kind, data FROM checkpoints WHERE thread = ? ORDER BY n", (thread,)
        )
        return [Checkpoint(kind=row["kind"], data=row["data"]) for row in rows]

    async def spent(self, scope: Scope | None, name: str, since: float) -> Used:
        """What was used since then, in the scope of this name or by everybody."""
        rows = await self._rows(*usage.spent_query(scope, name, since))
        return usage.used_of(rows[0]) if rows else NOTHING_USED

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

    async def feedback(self, thread: str) -> Mapping[str, int]:
        """How many have called an answer of the thread "good" or "bad"."""
        rows = await self._rows(people.COUNT_FEEDBACK, {"thread": thread})
        return {row["value"]: row["n"] for row in rows}

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

    async def put_part(self, row: OutboxRow) -> None:
        """Write a row of the outbox. Raises NotFound once its thread is gone."""
        await self.write(lambda c: outbox.put(c, row))

    async def told(self, thread: str, seq: int) -> int:
        """Note that all up to this seq is told; see SessionStore."""
        return await self.write(lambda c: outbox.told(c, thread, seq))

    async def give_up(self, thread: str, seq: int, why: str) -> None:
        """Note that nothing can be told there any more; see SessionStore."""
        await self.write(lambda c: outbox.give_up(c, thread, seq, why))

    async def take_up(self, thread: str) -> None:
        """Note that the thread can be written to again."""
        await self.write(lambda c: outbox.take_up(c, thread))

    async def _rows(
        self, query: str, parameters: tuple[Any, ...] | dict[str, Any]
    ) -> list[sqlite3.Row]:
        if self._readers is not None:
            return await _translated(self._readers.rows(query, parameters))
        path = self._folder / FILE
        if not path.exists():
            return []
        return await _translated(self._read(path, query, parameters))

    async def _read(
        self, path: Path, query: str, parameters: tuple[Any, ...] | dict[str, Any]
    ) -> list[sqlite3.Row]:
        """As somebody who does not own the store."""
        async with aiosqlite.connect(path, isolation_level=None) as connection:
            connection.row_factory = sqlite3.Row
            await connection.create_function(  # pyright: ignore[reportUnknownMemberType]
                "fold", 1, _fold, deterministic=True
            )
            await connection.execute("PRAGMA query_only = ON")
            await connection.execute("PRAGMA busy_timeout = 5000")
            await known_version(connection, path, max(self._steps, default=1))
            return list(await connection.execute_fetchall(query, parameters))


@asynccontextmanager
async def temporary_store() -> AsyncGenerator[SqliteStore]:
    """A store that is gone with everything in it when the context ends."""
    folder = Path(tempfile.mkdtemp(prefix="parley-"))
    try:
        yield SqliteStore(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "busy_timeout = 5000",
        "foreign_keys = ON",
        "secure_delete = ON",
        "journal_size_limit = 67108864",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _mark(
    connection: sqlite3.Connection, platform: str, name: str, value: str, conversation: str | None
) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO marks (platform, name, value, conversation)"
        " SELECT :platform, :name, :value, :conversation WHERE :conversation IS NULL"
        " OR EXISTS (SELECT 1 FROM threads WHERE key = :conversation)",
        {"platform": platform, "name": name, "value": value, "conversation": conversation},
    )


def _reading(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.create_function("fold", 1, _fold, deterministic=True)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA busy_timeout = 5000")
    return connection


def _rewrite_version(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.execute(f"PRAGMA user_version = {int(version)}")


def _fold(text: str | None) -> str | None:
    return None if text is None else text.casefold()


async def _translated(work: Any) -> Any:
    try:
        return await work
    except sqlite3.Error as error:
        raise translate(error) from error
