"""The unit of work that takes a waiting thread."""

from __future__ import annotations

from collections.abc import Callable

from gateway.events import SessionEvent
from gateway.store.jobs import FoundJob, FoundWork, JobSearch, LaneJob
from gateway.store.postgres import jobs
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.turn_records import (
    TOLD_AFTER,
    ClaimedTurn,
    Hold,
    LaneElsewhere,
    TurnDelay,
    full_group,
)
from gateway.store.units import claims, holds, lanes
from gateway.store.units.rows import UNSYNCED

LOOKED_AT = 8
"""Jobs that a node looks at in one transaction."""
FULL_DELAY, EACH_DELAY = 1.0, 0.2
"""Seconds until a thread whose person or group has too many turns is looked at again: so many at
least, and so many for each message of the person that waits.
"""
GROUPS = "parley groups"
"""The lock of those who count the turns of groups."""
_CONCERNED = "SELECT :person UNION SELECT id FROM threads WHERE id = :thread"
"""Names that are locked in the order in which a message locks them: see `units.inbox`."""


def take_work(
    connection: PostgresConnection,
    search: JobSearch,
    fetched: Callable[[FoundJob], object],
) -> FoundWork | None:
    """Take the first thread that may run, if any.

    `fetched` is told each job that is looked at.
    """
    held: list[SessionEvent] = []
    for _ in range(LOOKED_AT):
        found = jobs.fetch(connection.pipeline, search.queues)
        if found is None:
            if not held:
                connection.execute(UNSYNCED)
            return FoundWork(job=LaneJob(thread=""), held=tuple(held)) if held else None
        fetched(found)
        if (turn := _claim(connection, found, search, held)) is not None:
            return FoundWork(job=found.job, turn=turn, held=tuple(held))
    return FoundWork(job=LaneJob(thread=""), held=tuple(held))


def _claim(
    connection: PostgresConnection,
    found: FoundJob,
    search: JobSearch,
    held: list[SessionEvent],
) -> ClaimedTurn | None:
    """The turn of a fetched job.

    Without one the job is put back, or finished; `held` gets what its thread was told.
    """
    pipeline, job = connection.pipeline, found.job
    if (limited := _hold(connection, job, search)) is not None:
        hold, pause = limited
        jobs.put_back(pipeline, found.number, pause)
        if connection.now - holds.waits_since(connection, job.thread) >= TOLD_AFTER:
            held += holds.tell_hold(connection, job.thread, hold)
        return None
    match claims.begin(
        connection,
        job.thread,
        search.boot,
        words=search.words,
        quiet=search.quiet,
        anew=False,
        only=search.only,
    ):
        case ClaimedTurn() as turn:
            jobs.finish(pipeline, found.number)
            return turn
        case TurnDelay(seconds=seconds, events=events):
            jobs.put_back(pipeline, found.number, seconds)
            held += events
        case LaneElsewhere(running=False, node=node):
            jobs.put_back(pipeline, found.number, 0, f"node {node}")
        case LaneElsewhere() | None:  # who ends that turn looks for more
            jobs.finish(pipeline, found.number)
    return None


def _hold(
    connection: PostgresConnection, job: LaneJob, search: JobSearch
) -> tuple[Hold, float] | None:
    """A limit that permits no turn, and seconds until the next look."""
    if search.group_limits:
        connection.lock(GROUPS)
        running, most = lanes.running_in_groups(connection), dict(search.group_limits)
        for group in job.groups:
            if running[group] >= most.get(group[0], running[group] + 1):
                return full_group(group[0], most[group[0]]), FULL_DELAY
    if (limits := job.limits) is None:
        return None
    connection.lock_found(_CONCERNED, {"person": job.person, "thread": job.thread})
    load = lanes.load_of(connection, job.person, limits.turns)
    if lanes.has_room(limits, load):
        return None
    pause = max(FULL_DELAY, load.waiting * EACH_DELAY)
    if load.running >= limits.parallel:
        return Hold(limit="person_parallel_turns", most=limits.parallel), pause
    begins_at = lanes.begins_at(connection, job.person, job.thread, limits.turns)
    return Hold(limit="person_turns", most=limits.turns, seconds=begins_at - connection.now), pause
