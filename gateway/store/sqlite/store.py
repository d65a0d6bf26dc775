"""The embedded store: one SQLite file in a folder that only its owner may read.

store = SqliteStore(folder)
async with store.own():       # the one process that writes
    ...
await store.threads()         # reading needs no ownership
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from gateway.conversation import ConversationKey, InboundMessage
from gateway.errors import Closing, StoreFull, StoreUnwritable
from gateway.events import SessionEvent
from gateway.outbox import OutboxRow
from gateway.store.decisions import Accepted, Brought, NewThread
from gateway.store.records import InboxKind, Person, Thread
from gateway.store.rulebook import CodeCheck, FileRules, Respondents, Rulebook
from gateway.store.sqlite.backup import kept, put_staged, stage, write_backup
from gateway.store.sqlite.lock import StoreLock
from gateway.store.sqlite.migrate import bring_up_to_date
from gateway.store.sqlite.reader import FILE, SqliteReader, translated
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.writer import Writer
from gateway.store.turn_records import (
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
from gateway.store.units import awaited_files as awaited
from gateway.store.units import claims as claim
from gateway.store.units import deletion as upkeep
from gateway.store.units import inbox as messages
from gateway.store.units import outbox, people, queue, requests, turns
from gateway.store.units import team_changes as successions
from gateway.store.units import threads as making

LOG = logging.getLogger("gateway.store")

T = TypeVar("T")


class SqliteStore(SqliteReader):
    """A SessionStore in `folder`, which is made when it is first owned."""

    _writer: Writer | None = None

    @cached_property
    def _work(self) -> Path:
        """Where the work folders are."""
        return self._folder / "work"

    @property
    def commits(self) -> int:
        """How many transactions this owner has committed."""
        return self._writer.commits if self._writer else 0

    @asynccontextmanager
    async def own(self) -> AsyncGenerator[None]:
        """Be its only owner. Raises StoreInUse, StoreUnwritable, StoreTooNew, StoreCorrupt or
        StoreFull.
        """
        lock, path = StoreLock(self._folder), self._folder / FILE
        self._prepare(lock)
        try:
            await translated(bring_up_to_date(path, self._steps), path)
            writer = Writer(lambda: _connect(path))
            await translated(writer.start(), path)
            self._writer = writer
            self._readers = Readers(path)
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
            self._make_folder()
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

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)

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
        return await self.write(lambda c: making.create_thread(c, new, key, title, now))

    async def rename_thread(self, thread: str, title: str) -> list[SessionEvent]:
        """Give a thread another title. Raises NotFound."""
        now = self._clock()
        return await self.write(lambda c: making.rename_thread(c, thread, title, now))

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
        # The copies from before a migration or a restore hold what was said until then.
        for copy in self._folder.glob("parley.*.db*"):
            copy.unlink(missing_ok=True)

    async def _sweep(self) -> None:
        """Remove the work folders that a crash left behind when their threads were deleted."""
        rows = await self._rows("SELECT id FROM threads", ())
        kept = {row["id"] for row in rows}
        await asyncio.to_thread(self._remove_others, kept)

    def _remove_others(self, kept: set[str]) -> None:
        for folder in self._work.iterdir() if self._work.is_dir() else ():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    async def probe(self) -> None:
        """Write what stands there already. Raises the GatewayError that a write would."""
        await self.write(_rewrite_version)

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file; see SessionStore."""
        await write_backup(self._folder / FILE, path)

    async def stage(self, backup: Path) -> None:
        """Check a backup and copy it beside the store, for `restore`; the store may be in use.

        Raises NotFound, StoreCorrupt, StoreTooNew, StoreFull or StoreUnwritable.
        """
        await asyncio.to_thread(self._make_folder)
        await stage(backup, self._folder / FILE)

    async def restore(self) -> None:
        """Put the staged backup in the place of the store, and keep that as `kept`.

        Raises StoreInUse or StoreUnwritable.
        """
        lock = StoreLock(self._folder)
        lock.acquire()
        try:
            await put_staged(self._folder / FILE)
        finally:
            lock.release()

    @property
    def kept(self) -> Path:
        """Where the store is kept that a backup took the place of."""
        return kept(self._folder / FILE)

    async def work_folder(self, thread: str) -> Path:
        """Where the thread's tools may write; made if it is not there, removed with the thread."""
        folder = self._work_folder(thread)
        # On the event loop: one entry in a folder costs less than a hop to a thread.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _work_folder(self, thread: str) -> Path:
        return self._work / thread

    async def accept(
        self,
        message: InboundMessage,
        rulebook: Rulebook,
        *,
        new: NewThread,
        kind: InboxKind,
        named: str = "",
        counted: bool = True,
        then: Callable[[Accepted], None],
    ) -> Accepted:
        """Take a message once; see SessionStore."""
        now = self._clock()
        accepted = await self.write(
            lambda c: messages.accept(c, message, rulebook, new, kind, named, now, counted=counted),
            then,
        )
        if accepted.forgotten:
            await self._removed([accepted.forgotten])
        return accepted

    async def withdraw(self, thread: str, inbox: int) -> tuple[str, list[SessionEvent]] | None:
        """Take back a message that still waits."""
        now = self._clock()
        return await self.write(lambda c: queue.withdraw(c, thread, inbox, now))

    async def redeem(self, code: CodeCheck) -> Person | None:
        """Let in whose waiting code it is; see SessionStore."""
        now = self._clock()
        return await self.write(lambda c: people.redeem(c, code, now))

    async def unpair(self, person: str) -> bool:
        """Shut somebody out again who was let in; False if they were not."""
        return await self.write(lambda c: people.unpair(c, person))

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
        return await self.write(lambda c: claim.begin(c, thread, boot, now, quiet))

    async def bring(
        self, inbox: int, files: FileRules, then: Callable[[Brought | None], None]
    ) -> None:
        """Give a message its files; see SessionStore."""
        now = self._clock()
        await self.write(lambda c: awaited.bring(c, inbox, files, now), then)

    async def join(self, lease: Lease) -> Joined:
        """Take what waits into the turn; see SessionStore. Raises Fenced."""
        now = self._clock()
        return await self.write(lambda c: claim.join(c, lease, now))

    async def settle_due(
        self, respondents: Respondents, by: float, *, jumped: float = 0.0
    ) -> Settled:
        """Let requests expire whose time is over, and remind of those that are open for long."""
        now = self._clock()
        return await self.write(
            lambda c: requests.settle_due(c, respondents, now, by=by, jumped=jumped)
        )

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


def _rewrite_version(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.execute(f"PRAGMA user_version = {int(version)}")
