"""Jobs of procrastinate: threads with work that no node has begun.

What is below its public surface stands here alone: see docs/development.md. Jobs are deferred,
fetched and finished by its own functions, on the connection and in the transaction of the unit that
is about the thread. Fetching a job, claiming the thread's turn and finishing the job is one
transaction, so no job is ever left half done: the turn's row and the thread's owner say where it
runs. A thread has one job at most (`queueing_lock`), and is locked before its job is deferred, so
that none is missed by who finishes the last one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from procrastinate.schema import SchemaManager

from gateway.store.decisions import PersonLimits
from gateway.store.jobs import FoundJob, LaneJob
from gateway.store.postgres.database import OF_SCHEMA
from gateway.store.postgres.pipeline import Pipeline, Raw
from gateway.store.units.rows import FREE

TASK = "parley.thread"
"""The name of every job's task."""
CHANNEL = "procrastinate_any_queue_v1"
"""The channel on which new jobs are told of."""
TOGETHER = 20
"""Threads that are told at once that they wait."""
AGES = 10
"""Places that a job gains over those of busy people each time that `age_jobs` is called."""

TABLES = "procrastinate%"
"""Names of its tables, for LIKE."""

_IS_THERE = "SELECT to_regclass(%s) IS NOT NULL"
_BESIDE = """
    CREATE VIEW waiting_threads (thread) AS
     SELECT queueing_lock FROM procrastinate_jobs WHERE status = 'todo';
    -- A thread that is gone leaves no job. One that a node looks at just now is finished by it.
    CREATE OR REPLACE FUNCTION drop_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM procrastinate_jobs WHERE id IN (SELECT id FROM procrastinate_jobs
         WHERE queueing_lock = OLD.id AND status = 'todo' FOR UPDATE SKIP LOCKED);
        RETURN NULL;
    END $$;
    CREATE OR REPLACE TRIGGER gone AFTER DELETE ON threads FOR EACH ROW EXECUTE FUNCTION drop_jobs()
"""

_AT_ONCE = """
    UPDATE procrastinate_jobs SET scheduled_at = NULL{} WHERE id IN
     (SELECT j.id FROM procrastinate_jobs j {} FOR UPDATE OF j SKIP LOCKED)
"""
_OF_THREAD = "WHERE j.queueing_lock = $1 AND j.status = 'todo'"
_RUN_NOW = _AT_ONCE.format(
    ", args = CASE WHEN $2::jsonb ->> 'limits' IS NULL THEN $2::jsonb ELSE args END", _OF_THREAD
)
_HASTEN = _AT_ONCE.format("", _OF_THREAD)
_HASTEN_ALL = _AT_ONCE.format("", "WHERE j.status = 'todo' AND j.scheduled_at > now()")
_NEXT_OF_PERSON = _AT_ONCE.format(
    "",
    """JOIN (SELECT thread FROM inbox WHERE author = $1 AND outcome = 'queued'
       UNION SELECT thread FROM inbox WHERE author = $1 AND outcome = 'command'
        AND turn IS NOT NULL AND taken_at IS NULL) AS w ON w.thread = j.queueing_lock
     WHERE j.status = 'todo' AND j.args ->> 'person' = $1 AND j.scheduled_at > now()
     ORDER BY j.priority DESC, j.id LIMIT 1""",
)
_HASTEN_NEXT = f"""
    WITH hastened AS ({_NEXT_OF_PERSON} RETURNING id)
    SELECT pg_notify('{CHANNEL}', '') FROM hastened
"""
"""The job of a message, or of a /retry, that waits; procrastinate tells of new jobs alone."""
_LEAVE = f"""
    UPDATE threads SET owner = '{FREE}' WHERE id = $1
     AND owner = current_setting('parley.boot', TRUE)
     AND COALESCE((SELECT told FROM deliveries WHERE thread = $1), 0) >= $2
     AND NOT EXISTS (SELECT 1 FROM turns WHERE thread = $1 AND status = 'running')
"""
_DEFER = f"""
    SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(
      CASE WHEN n.boot IS NULL THEN split_part(t.key, '/', 1) ELSE 'node ' || n.boot END, '{TASK}',
      -(SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE author = $2::text AND outcome = 'queued'
        LIMIT 50) AS waiting)::integer,
      t.id, t.id, $3::jsonb,
      CASE WHEN $4::float8 > 0 THEN clock_timestamp() + make_interval(secs => $4::float8) END
     )::procrastinate_job_to_defer_v1])
    FROM threads t LEFT JOIN nodes n ON n.boot = t.owner AND NOT n.draining
    WHERE t.id = $1 AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs
     WHERE queueing_lock = $1 AND status = 'todo')
"""
_QUEUES = """
    COALESCE((SELECT CASE
     WHEN NOT takes_lanes(current_setting('parley.boot', TRUE)) THEN ARRAY[]::varchar[]
     WHEN '*' = ANY($1::varchar[]) THEN (SELECT array_agg(DISTINCT queue_name)
      FROM procrastinate_jobs WHERE status = 'todo'
       AND (queue_name NOT LIKE 'node %' OR queue_name = ANY($1::varchar[])))
     ELSE $1::varchar[] END), ARRAY[]::varchar[])
"""
"""Queues of a node; with "*", those of all platforms; none for one with another config."""
_FETCH = f"""
    SELECT id, lock, args::text FROM procrastinate_fetch_job_v2(
     {_QUEUES}, NULL)
    WHERE id IS NOT NULL
"""
_WAITING = f"FROM procrastinate_jobs WHERE status = 'todo' AND queue_name = ANY({_QUEUES})"
_NEXT = f"""
    SELECT CASE
     WHEN EXISTS (SELECT 1 {_WAITING} AND (scheduled_at IS NULL OR scheduled_at <= now())) THEN 0
     ELSE (SELECT extract(epoch FROM MIN(scheduled_at) - now())::float8 {_WAITING}) END
"""
_DUE = f"""
    SELECT lock {_WAITING} AND (scheduled_at IS NULL OR scheduled_at <= now())
     AND EXISTS (SELECT 1 FROM threads t JOIN inbox i ON i.thread = t.id
      WHERE t.id = lock AND t.held = '' AND i.outcome = 'queued' AND i.received_at < $2::float8)
    ORDER BY id LIMIT {TOGETHER}
"""
_FINISH = "SELECT procrastinate_finish_job_v1($1, 'succeeded', TRUE)"
_RETRY = """
    SELECT procrastinate_retry_job_v2($1, clock_timestamp() + make_interval(secs => $2::float8),
     NULL, $3::varchar, NULL)
"""
_POSTPONE = """
    UPDATE procrastinate_jobs SET
     scheduled_at = clock_timestamp() + make_interval(secs => $2::float8)
    WHERE id = $1 AND status = 'todo'
"""
_TELL = "SELECT pg_notify($1, '')"
_WITH_THREADS = f"""
    SELECT id FROM procrastinate_jobs WHERE status = 'todo' AND id IN
     (SELECT id FROM (SELECT id, queueing_lock FROM procrastinate_jobs
       WHERE status = 'todo' AND {{}} LIMIT 500) AS few
      WHERE pg_try_advisory_xact_lock(hashtextextended(queueing_lock, {OF_SCHEMA})))
    FOR UPDATE SKIP LOCKED
"""
"""Some jobs, with the locks of their threads: whoever hastens one has its thread, and passes over a
row that is locked.
"""
_LEFT_ALONE = """
    queue_name LIKE 'node %' AND (queue_name = 'node ' || $1::text OR queue_name NOT IN
     (SELECT 'node ' || boot FROM nodes WHERE NOT draining)) ORDER BY id
"""
_SPREAD = f"""
    UPDATE procrastinate_jobs j SET queue_name = split_part(t.key, '/', 1) FROM threads t
    WHERE t.id = j.lock AND j.id IN ({_WITH_THREADS.format(_LEFT_ALONE)})
"""
_AGE = f"""
    UPDATE procrastinate_jobs SET priority = LEAST(priority + {AGES}, 0)
    WHERE id IN ({_WITH_THREADS.format("priority < 0 ORDER BY priority DESC, id")})
"""


def install_jobs(raw: Raw) -> None:
    """Make procrastinate's tables and functions, and ours, unless they are there."""
    for name, script in (
        ("procrastinate_jobs", SchemaManager.get_schema()),
        ("waiting_threads", _BESIDE),
    ):
        if not raw.execute(_IS_THERE, [name]).fetchall()[0][0]:
            with raw.transaction():
                raw.execute(script.encode())


def defer(pipeline: Pipeline, job: LaneJob) -> None:
    """Let a node run the thread, once this is committed.

    Its own, if that lives. The thread's job, if there is one, is hastened.
    """
    limits = job.limits and [job.limits.parallel, job.limits.turns]
    arguments = json.dumps({"person": job.person, "limits": limits, "groups": job.groups})
    if job.hastens and job.delay <= 0:
        pipeline.send(_RUN_NOW, [job.thread, arguments])
    if job.leaves_at is not None:
        pipeline.send(_LEAVE, [job.thread, job.leaves_at])
    pipeline.send(_DEFER, [job.thread, job.person, arguments, float(job.delay)])


def hasten(pipeline: Pipeline, thread: str | None, person: str) -> None:
    """Let the thread's job, a person's next, or each, run now."""
    if person:
        pipeline.send(_HASTEN_NEXT, [person])
    elif thread is None:
        pipeline.send(_HASTEN_ALL)
    else:
        pipeline.send(_HASTEN, [thread])


def fetch(pipeline: Pipeline, queues: Sequence[str]) -> FoundJob | None:
    """The next job of these queues; nobody else gets it."""
    rows = pipeline.rows(pipeline.send(_FETCH, [[*queues]]), tuple)
    if not rows:
        return None
    number, thread, arguments = rows[0]
    given = json.loads(arguments)
    limits = given["limits"]
    return FoundJob(
        number=number,
        job=LaneJob(
            thread=thread,
            person=given["person"],
            limits=limits and PersonLimits(parallel=limits[0], turns=limits[1]),
            groups=tuple((kind, name) for kind, name in given["groups"]),
        ),
    )


def next_job(pipeline: Pipeline, queues: Sequence[str]) -> float | None:
    """Seconds until a job of these queues may run; None without one."""
    return pipeline.rows(pipeline.send(_NEXT, [[*queues]]), tuple)[0][0]


def due_threads(pipeline: Pipeline, queues: Sequence[str], before: float) -> list[str]:
    """Threads that have waited since then and were not told."""
    return [row[0] for row in pipeline.rows(pipeline.send(_DUE, [[*queues], before]), tuple)]


def finish(pipeline: Pipeline, number: int) -> None:
    """Finish a fetched job: its thread runs, or has nothing to do."""
    pipeline.send(_FINISH, [number])


def put_back(pipeline: Pipeline, number: int, delay: float, queue: str | None = None) -> None:
    """Let a fetched job wait again, perhaps in another queue."""
    pipeline.send(_RETRY, [number, float(delay), queue])
    if queue is not None:  # procrastinate tells of new jobs alone
        pipeline.send(_TELL, [CHANNEL])


def postpone(pipeline: Pipeline, number: int, delay: float) -> None:
    """Let nobody fetch a job for a while."""
    pipeline.send(_POSTPONE, [number, float(delay)])


def spread(pipeline: Pipeline, boot: str = "") -> None:
    """Let every node take the jobs of this and gone ones.

    It locks their threads: to be called when no other one is locked any more.
    """
    pipeline.send(_SPREAD, [boot])


def age_jobs(pipeline: Pipeline) -> None:
    """Let long waiting jobs come before newer ones; locks as `spread`."""
    pipeline.send(_AGE)
