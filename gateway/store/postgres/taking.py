"""The unit of work that takes a waiting thread."""

from __future__ import annotations

from collections.abc import Callable

from gateway.store.jobs import FoundJob, FoundWork, JobSearch, LaneJob
from gateway.store.postgres import jobs
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.turn_records import ClaimedTurn, LaneElsewhere, TurnDelay
from gateway.store.units import claims, lanes

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
    now: float,
    search: JobSearch,
    fetched: Callable[[FoundJob], object],
) -> FoundWork | None:
    """Take the first thread that may run, if any.

    `fetched` is told each job that is looked at.
    """
    for _ in range(LOOKED_AT):
        found = jobs.fetch(connection.pipeline, search.queues)
        if found is None:
            return None
        fetched(found)
        if (turn := _claim(connection, now, found, search)) is not None:
            return FoundWork(job=found.job, turn=turn)
    return FoundWork(job=LaneJob(thread=""))


def _claim(
    connection: PostgresConnection, now: float, found: FoundJob, search: JobSearch
) -> ClaimedTurn | None:
    """The turn of a fetched job.

    Without one the job is put back, or finished.
    """
    pipeline, job = connection.pipeline, found.job
    if (delay := _wait(connection, now, job, search)) > 0:
        jobs.put_back(pipeline, found.number, delay)
        return None
    match claims.begin(
        connection,
        now,
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
        case TurnDelay(seconds=seconds):
            jobs.put_back(pipeline, found.number, seconds)
        case LaneElsewhere(running=False, node=node):
            jobs.put_back(pipeline, found.number, 0, f"node {node}")
        case LaneElsewhere() | None:  # who ends that turn looks for more
            jobs.finish(pipeline, found.number)
    return None


def _wait(connection: PostgresConnection, now: float, job: LaneJob, search: JobSearch) -> float:
    """Seconds until person and groups permit one more turn."""
    if search.group_limits:
        connection.lock(GROUPS)
        running, most = lanes.running_in_groups(connection), dict(search.group_limits)
        if any(running[group] >= most.get(group[0], running[group] + 1) for group in job.groups):
            return FULL_DELAY
    if job.limits is None:
        return 0.0
    connection.lock_found(_CONCERNED, {"person": job.person, "thread": job.thread})
    load = lanes.load_of(connection, job.person, now, job.limits.turns)
    if lanes.has_room(job.limits, load):
        return 0.0
    return max(FULL_DELAY, load.waiting * EACH_DELAY)
