"""The unit of work that judges what a crash left behind."""

from __future__ import annotations

from gateway.events import Notice
from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.rulebook import RecoveryWords, RequestDating
from gateway.store.turn_records import MAX_RESUMES, Lease, RecoveredThread, broken_off
from gateway.store.units import doubts
from gateway.store.units.audit import note
from gateway.store.units.damage import mend_threads
from gateway.store.units.events import add_events
from gateway.store.units.expiry import date_anew
from gateway.store.units.files import expect_anew
from gateway.store.units.grants import end_modes
from gateway.store.units.lanes import free_lost_lanes, lost_jobs
from gateway.store.units.losses import mark_told
from gateway.store.units.rows import FREE, fence, open_messages, scalar
from gateway.store.units.turns import park

_LOST = """
    SELECT u.id, u.thread, u.attempts FROM turns u JOIN threads t ON t.id = u.thread
    WHERE u.status = 'running' AND NOT EXISTS (SELECT 1 FROM nodes WHERE boot = t.owner)
"""
_OTHERS = """
    SELECT COUNT(*) FROM nodes WHERE boot <> :boot /*pg AND beat + patience >= server_time() */
"""
"""Nodes that were there before this one, and may live."""


@writes(alone=True)
def recover(
    connection: Connection,
    boot: str,
    words: RecoveryWords,
    asked: RequestDating | None = None,
) -> list[RecoveredThread]:
    """Count attempts of turns that an earlier boot left; park frequent failures.

    After a loss, park whatever is unfinished: it may have been done.
    """
    note(connection, "gateway.started", person="", object=boot)
    mend_threads(connection)
    if words.doubt is not None:
        doubts.park_unfinished(connection, boot, words.doubt)
        mark_told(connection)
    resume_lost(connection, words)
    expect_anew(connection)
    if not scalar(connection, _OTHERS, {"boot": boot}):
        free_lost_lanes(connection)
        end_modes(connection, words.mode_ended)
        date_anew(connection, asked or RequestDating(by=connection.now))
        connection.hasten()  # whatever a thread waited for may be over
    return [
        RecoveredThread(
            thread=job.thread,
            person=job.person,
            groups=job.groups,
            open_messages=open_messages(connection, job.thread),
        )
        for job in lost_jobs(connection)
        if not connection.defer(job)
    ]


def resume_lost(connection: Connection, words: RecoveryWords) -> None:
    """Count attempts of turns whose node is gone; park frequent failures.

    They run no more: until somebody claims them, nobody counts them again.
    """
    for row in connection.fetch(_LOST):
        lease = Lease(
            thread=row["thread"], turn=row["id"], epoch=fence(connection, row["thread"], FREE)
        )
        if row["attempts"] < MAX_RESUMES:
            connection.execute(
                "UPDATE turns SET attempts = attempts + 1, status = 'paused' WHERE id = :turn",
                {"turn": lease.turn},
            )
            notice = Notice(
                thread=lease.thread, turn=lease.turn, text=words.interrupted, level="warning"
            )
            add_events(connection, lease.thread, [notice])
        else:
            _park(connection, lease, words)


def _park(connection: Connection, lease: Lease, words: RecoveryWords) -> None:
    """End the turn as it stands, with its messages as shown."""
    begun = open_messages(connection, lease.thread)
    notice = Notice(thread=lease.thread, turn=lease.turn, text=words.parked, level="error")
    events = [*(broken_off(lease, shown) for shown in begun), notice]
    park(connection, lease, events, words.reason)
