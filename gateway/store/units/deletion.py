"""Units of work that delete: a thread, a person, what is old."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.errors import NotFound
from gateway.store.connection import Connection
from gateway.store.operations import Erased, reads, writes
from gateway.store.records import Thread
from gateway.store.turn_records import ExpiredThreads, RetentionPause
from gateway.store.units import audit, gone, out_of_order, usage
from gateway.store.units.adapters import OWN, mark, own_mark, take_own_mark
from gateway.store.units.homes import VISITED
from gateway.store.units.rows import OPEN_STATUSES, find_thread, scalar
from gateway.store.units.search_index import WORDS
from gateway.store.units.threads import THREADS_OF

FEW = 5
"""Threads that may always expire at once."""

_LEFT = "retention left"
"""The mark of what a round has left: when the next one is, in seconds since the epoch, and the
number of threads.
"""
_FEW = {"few": FEW}
_FORKS = """
    SELECT DISTINCT thread FROM inbox
    WHERE copy_of IN (SELECT id FROM inbox WHERE thread = :thread)
"""
_EXPIRED = f"""
    FROM threads AS t WHERE updated_at < :before AND NOT EXISTS
     (SELECT 1 FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}
      AND (status <> 'waiting' OR ready))
     AND NOT EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued'
      AND received_at >= :before)
"""


def forks_of(connection: Connection, thread: Thread) -> list[str]:
    """Forks that are deleted with a thread: those with words from there.

    The terminal's own threads leave theirs.
    """
    rows = () if thread.key.is_local else connection.fetch(_FORKS, {"thread": thread.id})
    return [row["thread"] for row in rows]


@reads
def deleted_with(connection: Connection, threads: Sequence[str]) -> list[Thread]:
    """The forks that are deleted with these threads. Raises NotFound."""
    each = (forks_of(connection, find_thread(connection, thread)) for thread in threads)
    forks = dict.fromkeys(fork for found in each for fork in found if fork not in threads)
    return [find_thread(connection, fork) for fork in forks]


def _threads_erased(threads: list[str], *_: str) -> Erased:
    return Erased(threads)


@writes(alone=True, erases=_threads_erased)
def delete_thread(
    connection: Connection, thread: str, /, *, goes_on: bool = False, **noted: str
) -> list[str]:
    """Remove a thread and its rows; all that went. Raises NotFound.

    Forks of a platform's thread have people's words from there, and go with it. `goes_on`: another
    thread takes its conversation over, with what adapters keep of that. The audit has it as
    `noted`.
    """
    forks = forks_of(connection, find_thread(connection, thread))
    for fork in forks:
        connection.lock(fork)
        _remove(connection, fork, goes_on=False, **noted)
    _remove(connection, thread, goes_on=goes_on, **noted)
    return [thread, *forks]


def _remove(connection: Connection, thread: str, *, goes_on: bool, **noted: str) -> None:
    key = find_thread(connection, thread).key
    connection.lock(WORDS)  # before its row, which who indexes words may need
    out_of_order.remember_thread(connection, thread)
    audit.forget_thread(connection, thread)
    audit.note(connection, "thread.deleted", thread=thread, **noted)
    connection.execute("DELETE FROM threads WHERE id = :thread", {"thread": thread})
    usage.forget_thread(connection, thread)
    gone.forget_deletions(connection, thread)
    if not goes_on:
        connection.execute(
            "DELETE FROM marks WHERE conversation = :key"
            " AND NOT EXISTS (SELECT 1 FROM threads WHERE key = :key)",
            {"key": str(key)},
        )
        connection.execute(
            "DELETE FROM gaps WHERE platform = :platform AND place = :key",
            {"platform": key.platform, "key": str(key)},
        )


def _person_erased(threads: list[str], _: str) -> Erased:
    return Erased(threads, person=True)


@writes(alone=True, erases=_person_erased)
def delete_person(connection: Connection, person: str, /) -> list[str]:
    """Remove everything about the person; the ids of the threads removed.

    Raises NotFound without an id: "" stands for nobody in rows of other people's threads.
    """
    if not person:
        raise NotFound("The person's id is empty, so no thread was deleted.")
    of_person = {"person": person}
    threads = list[str]()
    for row in connection.fetch(THREADS_OF, of_person):
        if row["thread"] not in threads:
            threads += delete_thread(connection, row["thread"], outcome=audit.PERSON_DELETED)
    out_of_order.remember_person(connection, person)
    for statement in (
        "DELETE FROM inbox WHERE author = :person",
        "DELETE FROM early_edits WHERE author = :person",
        "DELETE FROM grants WHERE person = :person",
        "DELETE FROM memos WHERE person = :person",
        "DELETE FROM people WHERE person = :person",
        "DELETE FROM feedback WHERE person = :person",
        "DELETE FROM pairing_codes WHERE person = :person",
        f"DELETE FROM marks WHERE name = '{VISITED}' || :person",
    ):
        connection.execute(statement, of_person)
    usage.forget_person(connection, person)
    audit.forget_person(connection, person)
    audit.note(connection, "person.deleted")
    return threads


def _expired(found: ExpiredThreads, *_: float) -> Erased | None:
    return Erased(found.threads) if found.threads or found.memos else None


@writes(alone=True, erases=_expired)
def expire(
    connection: Connection, before: float, share: float = 1.0, *, next_at: float = 0.0
) -> ExpiredThreads:
    """Remove threads unused since `before` with nothing to do, and orphaned rows.

    The oldest go first, and no more than a share of all threads, or a few where there are few. If
    some are left, it is noted that they have to wait until `next_at`.
    """
    until = {"before": before}
    rows = connection.fetch(f"SELECT id {_EXPIRED} ORDER BY updated_at LIMIT :few", until | _FEW)
    left = 0
    if len(rows) == FEW:
        every = scalar(connection, "SELECT COUNT(*) FROM threads")
        most = max(FEW, int(share * every))
        rows = connection.fetch(
            f"SELECT id {_EXPIRED} ORDER BY updated_at LIMIT :most", {**until, "most": most}
        )
        left = scalar(connection, f"SELECT COUNT(*) {_EXPIRED}", until) - len(rows)
    threads = tuple(row["id"] for row in rows)
    for thread in threads:
        _remove(connection, thread, goes_on=False, person="", outcome="retention")
    connection.execute("DELETE FROM inbox WHERE thread IS NULL AND received_at < :before", until)
    connection.execute("DELETE FROM pairing_codes WHERE expires_at < :before", until)
    if memos := connection.change("DELETE FROM memos WHERE at < :before", until):
        how = {"person": "", "outcome": "retention", "object": str(memos)}
        audit.note(connection, "memory.deleted", **how)
    out_of_order.drop_old(connection, before)
    usage.merge(connection, before)
    if left:
        mark(connection, OWN, _LEFT, f"{next_at} {left}")
    else:
        take_own_mark(connection, _LEFT)
    return ExpiredThreads(threads=threads, left=left, memos=memos)


@reads
def retention_pause(connection: Connection) -> RetentionPause | None:
    """The pause of retention; None if the last round has left nothing."""
    kept = own_mark(connection, _LEFT)
    if not kept:
        return None
    at, left = kept.split()
    return RetentionPause(next_at=float(at), left=int(left))
