"""Operations of a store that has nodes."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from gateway.errors import works_later
from gateway.store.jobs import FoundJob, FoundWork, JobSearch, LaneJob
from gateway.store.nodes import Healed
from gateway.store.operations import UnitWriter
from gateway.store.postgres import jobs
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import OF_SCHEMA
from gateway.store.postgres.taking import take_work
from gateway.store.rulebook import RecoveryWords
from gateway.store.turn_records import TOLD_AFTER
from gateway.store.units import lanes, recovery
from gateway.store.units import nodes as node_units

LOG = logging.getLogger("gateway")

T = TypeVar("T")

LEFT = 3600.0
"""Seconds since the last use of a thread that a node may have left in a hurry."""
RECENT = 600.0
"""Seconds since a change that may have gone unnoticed."""

POSTPONED = 30.0
"""Seconds until a job that can't be taken is looked at again."""

_DEAD = """
    SELECT boot FROM nodes WHERE beat + patience < server_time() AND boot <> :boot
    UNION SELECT t.owner FROM turns u JOIN threads t ON t.id = u.thread
    WHERE u.status = 'running' AND NOT EXISTS (SELECT 1 FROM nodes WHERE boot = t.owner)
"""
"""Silent nodes, and those that have left while a turn of theirs ran."""
_BURY = """
    DELETE FROM nodes WHERE boot = :boot AND beat + patience < server_time() RETURNING name
"""
_DRAIN = "UPDATE nodes SET draining = TRUE WHERE boot = :boot"
_GIVE_BACK = "DELETE FROM leases WHERE holder = :boot"
_TAKES = "SELECT takes_lanes(:boot) AS takes"
_ONE_HEALS = f"SELECT pg_try_advisory_xact_lock(hashtextextended('parley healing', {OF_SCHEMA}))"


class NodeOperations(UnitWriter):
    """The part of a store that several nodes share."""

    @abstractmethod
    async def read(self, unit: Callable[[PostgresConnection], T]) -> T:
        """Run a unit that only reads."""

    @abstractmethod
    async def write(
        self,
        unit: Callable[[PostgresConnection], T],
        then: Callable[[T], None] | None = None,
        *,
        alone: bool = False,
    ) -> T:
        """Run a unit as one transaction; see UnitWriter."""

    async def hold(self, name: str, boot: str) -> bool:
        """Take a lease, unless another node that lives has it."""
        holder = await self.read(lambda connection: node_units.holder_of(connection, name))
        if holder is not None:
            return holder == boot  # who asks again and again writes nothing
        return await self.write(lambda connection: node_units.hold(connection, name, boot))

    async def take(self, search: JobSearch) -> FoundWork | None:
        """Take a thread that waits for a node; None if none does.

        It has no turn where more may be looked at, nor where one can't be begun.
        """
        fetched = deque[FoundJob](maxlen=1)
        try:
            return await self.write(
                lambda connection: take_work(connection, search, fetched.append)
            )
        except Exception as error:
            if works_later(error) or not fetched:
                raise
            (found,) = fetched
            LOG.warning("thread %s: its job can't be taken: %r", found.job.thread, error)
        # Who begins the thread alone fails alone, and ends what can't be begun.
        await self.write(
            lambda connection: jobs.postpone(connection.pipeline, found.number, POSTPONED)
        )
        return FoundWork(job=found.job)

    async def next_job(self, queues: Sequence[str]) -> float | None:
        """Seconds until a thread of these queues may run; None without one."""
        return await self.read(lambda connection: jobs.next_job(connection.pipeline, queues))

    async def due_threads(self, queues: Sequence[str]) -> Sequence[str]:
        """Some threads that have waited, and were not told so."""
        return await self.read(
            lambda connection: jobs.due_threads(
                connection.pipeline, queues, connection.now - TOLD_AFTER
            )
        )

    async def defer(self, job: LaneJob) -> None:
        """Let a node run the thread."""

        def unit(connection: PostgresConnection) -> None:
            connection.lock(job.thread)
            connection.defer(job)

        await self.write(unit)

    async def dead_nodes(self, boot: str) -> list[str]:
        """Nodes without a sign of life, or gone from their turns.

        Their sessions are ended with the next heartbeat.
        """
        rows = await self.read(lambda connection: connection.fetch(_DEAD, {"boot": boot}))
        return [row["boot"] for row in rows]

    async def bury(self, dead: Sequence[str], words: RecoveryWords) -> list[str]:
        """Declare nodes dead, and put their work back; their names.

        Nobody else writes meanwhile: what takes longer with more lanes is done before and after.
        """

        def free(connection: PostgresConnection) -> None:
            for boot in dead:
                lanes.free_lanes_of(connection, boot)

        def declare(connection: PostgresConnection) -> list[str]:
            buried = [connection.fetch(_BURY, {"boot": boot}) for boot in dead]
            recovery.resume_lost(connection, words)
            return [row["name"] for rows in buried for row in rows]

        def put_back(connection: PostgresConnection) -> None:
            free(connection)  # what it told between the two
            lanes.defer_lost(connection)
            jobs.spread(connection.pipeline)

        await self.write(free)  # also if this node dies before it has put all back
        names = await self.write(declare, alone=True)
        await self.write(put_back)
        return names

    async def heal(
        self, boot: str, platforms: Sequence[str], *, full: bool, all_work: bool
    ) -> Healed:
        """Adopt free lanes, and leave others what this can't run.

        `full`: it has no room. With `all_work`, unless another node does, it looks for work without
        a job.
        """

        def unit(connection: PostgresConnection) -> Healed:
            adopted = lanes.adopt(connection, boot, platforms)
            if is_the_one := all_work and connection.fetch(_ONE_HEALS)[0][0]:
                lanes.free_lost_lanes(connection, connection.now - LEFT)
                lanes.defer_lost(connection)
            jobs.spread(connection.pipeline, boot if full else "")
            if is_the_one:
                jobs.age_jobs(connection.pipeline)
            return Healed(
                adopted=tuple(adopted),
                untold=lanes.untold_of(connection, boot, connection.now - RECENT),
                turns=lanes.turns_of(connection, boot),
                takes_lanes=connection.fetch(_TAKES, {"boot": boot})[0]["takes"],
            )

        return await self.write(unit)

    async def drain(self, boot: str) -> None:
        """Take nothing more, and give leases and lanes back."""

        def unit(connection: PostgresConnection) -> None:
            for statement in (_DRAIN, _GIVE_BACK):
                connection.execute(statement, {"boot": boot})
            jobs.spread(connection.pipeline, boot)

        await self.write(unit)

    async def leave(self, boot: str) -> None:
        """Let go of what a drained node still has."""

        def unit(connection: PostgresConnection) -> None:
            lanes.free_lanes_of(connection, boot)
            lanes.defer_lost(connection)

        await self.write(unit)
