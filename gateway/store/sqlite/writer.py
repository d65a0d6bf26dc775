"""The writing connection in its own worker, which commits in groups.

A unit is a plain function of the connection. Those that wait are run in one transaction, and their
callers go on once that transaction is on disk. If one of them fails, all are run again, each under
a savepoint of its own: a unit must have no effects but those on the connection.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter, sleep
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gateway.base.describe import describe
from gateway.errors import (
    GatewayClosed,
    GatewayError,
    StoreCorrupt,
    StoreFull,
    StoreUnwritable,
    Unstorable,
)
from gateway.store.connection import NO_COLUMN, NO_PARAMETERS, Parameters, Row
from gateway.store.jobs import LaneJob
from gateway.store.operations import hand_on
from gateway.store.sqlite.commit_count import CommitCount

LOG = logging.getLogger("gateway.store")

GROUP = 256
"""At most this many units share a commit."""
GATHER = 0.001
"""Seconds for which a group waits for more units, once it has several."""

T = TypeVar("T")


class SqliteConnection:
    """A Connection; `raw` is for what only SQLite can do."""

    __slots__ = ("now", "raw")

    def __init__(self, raw: sqlite3.Connection, now: float = 0.0) -> None:
        self.raw = raw
        self.now = now

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> None:
        """Carry out a statement."""
        self.raw.execute(statement, parameters)

    def change(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Carry out a statement; how many rows it has changed."""
        return self.raw.execute(statement, parameters).rowcount

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """All rows of a query, or of a statement that returns some."""
        return self.raw.execute(query, parameters).fetchall()

    def fetch_each(self, *queries: tuple[str, Parameters]) -> Sequence[Sequence[Row]]:
        """All rows of each query."""
        return [self.fetch(*each) for each in queries]

    def insert(self, statement: str, parameters: Parameters, /) -> int:
        """Add a row; its number. RETURNING would take half as long again."""
        number = self.raw.execute(statement, parameters).lastrowid
        assert number is not None
        return number

    def many(self, statement: str, each: Sequence[Parameters], /) -> None:
        """Carry out a statement once for each set of parameters."""
        self.raw.executemany(statement, each)

    def put_contents(self, sha256: str, data: bytes, /) -> None:
        """Keep the contents of a file, unless they are there."""
        statement = "INSERT INTO blobs (sha256, data) VALUES (?, ?) ON CONFLICT DO NOTHING"
        self.raw.execute(statement, (sha256, data))

    def contents(self, sha256: str, longest: int | None = None, /) -> bytes:
        """The contents of a file, or their beginning, without reading the rest."""
        query = "SELECT data FROM blobs WHERE sha256 = ?"
        found = (
            self.raw.execute(query, (sha256,))
            if longest is None
            else self.raw.execute(query.replace("data", "substr(data, 1, ?)"), (longest, sha256))
        )
        return next((row[0] or b"" for row in found), b"")

    def lock(self, name: str, /) -> None:
        """Keep nobody away: there is one writer."""

    def lock_found(self, query: str, parameters: Parameters, /) -> None:
        """Keep nobody away: there is one writer."""

    def defer(self, job: LaneJob, /) -> bool:
        """Leave it to the process, which has all threads."""
        return False

    def hasten(self, thread: str | None = None, /, *, person: str = "") -> None:
        """Leave it to the process, which has all threads."""


def prepare(raw: sqlite3.Connection, *pragmas: str) -> sqlite3.Connection:
    """Give a connection named rows and these pragmas, or close it."""
    raw.row_factory = sqlite3.Row
    try:
        for pragma in pragmas:
            raw.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        raw.close()
        raise
    return raw


def connect_to_write(path: Path) -> sqlite3.Connection:
    """A connection for the one worker that writes."""
    return prepare_to_write(sqlite3.connect(path, isolation_level=None))


def prepare_to_write(raw: sqlite3.Connection) -> sqlite3.Connection:
    """Make a connection one that writes, or close it."""
    return prepare(
        raw,
        "journal_mode = WAL",
        "synchronous = FULL",
        "busy_timeout = 5000",
        "foreign_keys = ON",
        "secure_delete = ON",
        "journal_size_limit = 67108864",
    )


SqliteUnit: TypeAlias = Callable[[SqliteConnection], T]


class _Job(NamedTuple):
    unit: SqliteUnit[Any]
    now: float
    future: asyncio.Future[Any]
    then: Callable[[Any], None] | None
    alone: bool = False
    """It is no transaction, and is run between them."""


_Answer: TypeAlias = tuple[_Job, Any, BaseException | None]


class Writer:
    """Runs units of work on its own connection; `commits` counts transactions.

    `count` keeps their number for the next owner, from its beginning on.

    The worker is a daemon: a process that ends without `close` is not held by it, and loses only
    what nobody was told is stored.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], count: CommitCount | None = None
    ) -> None:
        self._connect = connect
        self._count = count
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._worker = Thread(target=self._run, name="parley-writer", daemon=True)
        self._opened: asyncio.Future[None] | None = None
        self._ended: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.commits = 0
        self.observe: Callable[[float], None] = _nothing
        """Called in the writer's worker with the seconds of each transaction."""

    async def start(self) -> None:
        """Open the connection.

        Raises what `connect` raises; errors of SQLite become StoreErrors.
        """
        self._loop = asyncio.get_running_loop()
        self._opened, self._ended = self._loop.create_future(), self._loop.create_future()
        self._worker.start()
        await self._opened

    async def write(
        self, unit: SqliteUnit[T], then: Callable[[T], None] | None = None, now: float = 0.0
    ) -> T:
        """Run `unit`, asked for `now`; its result once committed.

        An exception of its own undoes the unit alone.

        A caller that is cancelled leaves: the unit is run all the same, and `then` is called with
        its result on the event loop. Raises StoreFull where there is no space.
        """
        if self._ended is None or self._ended.done():
            raise GatewayClosed
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(unit, now, future, then))
        return await future

    async def empty_log(self) -> bool:
        """Move everything from the write-ahead log to the database, and truncate it.

        What was deleted is then in neither. False if a reader is in the way of it.
        """
        if self._ended is None or self._ended.done():
            raise GatewayClosed
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(_checkpoint, 0.0, future, None, alone=True))
        return await future

    async def close(self, timeout: float = 3.0) -> None:  # noqa: ASYNC109 (the caller has no scope to give at exit)
        """Commit what waits and close the connection; give up after `timeout` seconds."""
        if self._ended is None or self._ended.done():
            return
        self._jobs.put(None)
        try:
            await asyncio.wait_for(asyncio.shield(self._ended), timeout)
        except TimeoutError:
            LOG.warning("the writer did not end within %s s", timeout)

    def _run(self) -> None:
        try:
            connection = SqliteConnection(self._connect())
        except BaseException as error:
            self._settle(self._ended)  # first: who learns of the error must not queue any more
            self._settle(self._opened, error=error)
            return
        self._settle(self._opened)
        try:
            while self._group(connection):
                pass
            _checkpoint(connection)
            if self._count is not None:
                self._count.close()
        except sqlite3.Error as error:
            LOG.warning("the store was closed without a checkpoint: %s", describe(error))
        finally:
            connection.raw.close()
            if self._count is not None:
                self._count.release()
            self._settle(self._ended)

    def _group(self, connection: SqliteConnection) -> bool:
        """Take what waits, as one transaction; False once the end is reached."""
        first = self._jobs.get()
        if first is None:
            return False
        jobs: list[_Job] = [first]
        if (more := self._take(jobs)) and 1 < len(jobs) < GROUP:
            sleep(GATHER)  # each of several callers is likely to be followed by one more
            more = self._take(jobs)
        while jobs:
            if jobs[0].alone:
                self._answer([_run_alone(connection, jobs.pop(0))])
                continue
            together = jobs[: next((n for n, job in enumerate(jobs) if job.alone), None)]
            jobs = self._transaction(connection, together) + jobs[len(together) :]
        return more

    def _take(self, jobs: list[_Job]) -> bool:
        """Add what waits; False once the end is reached."""
        while len(jobs) < GROUP:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return False
            jobs.append(job)
        return True

    def _transaction(self, connection: SqliteConnection, jobs: list[_Job]) -> list[_Job]:
        """Run the jobs in one transaction; the jobs that it left out."""
        answers: list[_Answer] = []
        left = list(jobs)
        try:
            began = perf_counter()
            _undo(connection)  # what the last one could not
            connection.execute("BEGIN IMMEDIATE")
            if (results := _all(connection, jobs)) is not None:
                answers = [(job, result, None) for job, result in zip(jobs, results, strict=True)]
                left = []
            elif not connection.raw.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            while left:
                answers.append((left[0], *_savepoint(connection, left[0])))
                del left[0]  # not before: it is answered, or tried again
                if not connection.raw.in_transaction:
                    # SQLite gave up the whole transaction (disk full, I/O error).
                    raise answers[-1][2] or _ended_early()  # noqa: TRY301
            if all(error is not None for *_, error in answers):
                # A commit would write what they left in free pages, which no savepoint restores.
                connection.execute("ROLLBACK")
                self._answer(answers)
                return left
            if self._count is not None:
                self._count.add(connection)
            connection.execute("COMMIT")
            self.commits += 1
            self.observe(perf_counter() - began)
            if self._count is not None:
                self._count.note()
        except BaseException as error:
            with suppress(sqlite3.Error):  # the next one tries again
                _undo(connection)
            if not answers:  # it could not even begin
                failed, left = left, []
            else:
                failed = [job for job, _, _ in answers]
            answers = [(job, None, error) for job in failed]
        self._answer(answers)
        return left

    def _answer(self, answers: list[_Answer]) -> None:
        """Wake the event loop once for all of them."""
        assert self._loop is not None
        _call(self._loop, _resolve, answers)

    def _settle(
        self, future: asyncio.Future[None] | None, error: BaseException | None = None
    ) -> None:
        assert self._loop is not None
        assert future is not None
        _call(self._loop, _set, future, None, error)


def _nothing(seconds: float) -> None:
    """Tell nobody."""


def _ended_early() -> sqlite3.Error:
    return sqlite3.OperationalError("the transaction ended early")


def _checkpoint(connection: SqliteConnection) -> bool:
    busy = connection.fetch("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
    return not busy


def _run_alone(connection: SqliteConnection, job: _Job) -> _Answer:
    try:
        return job, job.unit(connection), None
    except sqlite3.Error as error:
        return job, None, error


def _all(connection: SqliteConnection, jobs: list[_Job]) -> list[Any] | None:
    """The results of all jobs; None if one fails, with nothing done.

    A savepoint around each would cost as much as many a job: it is set only once one has failed.
    """
    results: list[Any] = []
    try:
        for job in jobs:
            connection.now = job.now
            results.append(job.unit(connection))
    except BaseException:  # it fails again, on its own, and is answered then
        _undo(connection)
        return None
    return results


def _undo(connection: SqliteConnection) -> None:
    """Undo the open transaction, if any."""
    if connection.raw.in_transaction:
        connection.execute("ROLLBACK")


def _savepoint(connection: SqliteConnection, job: _Job) -> tuple[Any, BaseException | None]:
    connection.execute("SAVEPOINT unit")
    connection.now = job.now
    try:
        result = job.unit(connection)
    except BaseException as error:
        if connection.raw.in_transaction:
            connection.execute("ROLLBACK TO unit")
            connection.execute("RELEASE unit")
        return None, error
    connection.execute("RELEASE unit")
    return result, None


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        LOG.warning("the event loop was closed before the store had answered")


def _resolve(answers: list[_Answer]) -> None:
    for job, result, error in answers:
        if error is None:
            hand_on(job.then, result)
        _set(job.future, result, error)


def _set(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # its caller was cancelled
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(translate(error))


def translate(error: BaseException, path: Path | None = None) -> BaseException:
    """An error of SQLite's as one of the gateway's, if it is.

    It is about the store at `path`.
    """
    translated = _translate(error, f"The store {str(path)!r}" if path else "The store")
    if translated is not error:
        translated.__cause__ = error
    return translated


_NEVER = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    *NO_COLUMN,
)
"""Values for which there is no place in a row."""


def _translate(error: BaseException, store: str) -> BaseException:
    if isinstance(error, _NEVER):
        return Unstorable(str(error).rstrip("."))
    if isinstance(error, GatewayError) or not isinstance(error, sqlite3.Error):
        return error
    code = getattr(error, "sqlite_errorcode", None)
    match code and code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return StoreFull()
        case (
            sqlite3.SQLITE_READONLY
            | sqlite3.SQLITE_CANTOPEN
            | sqlite3.SQLITE_PERM
            | sqlite3.SQLITE_IOERR
            | sqlite3.SQLITE_BUSY
        ):
            return StoreUnwritable(f"{store} can't be written: {error}.")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(
                f"{store} is damaged: {error}. `parley store restore` puts a backup in its place; "
                "`parley store repair` saves what is readable."
            )
        case _:
            return error
