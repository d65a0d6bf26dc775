"""Order of turns on one of several nodes, by jobs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from gateway.content.attachments import MISSING
from gateway.sessions import job_dispatcher
from gateway.sessions.job_dispatcher import JobDispatcher
from gateway.store.jobs import FoundWork, JobSearch, LaneJob
from tests.gateway.sessions.test_dispatcher import Lanes, running

SEARCH = JobSearch(boot="n", queues=("local",), words=MISSING, quiet=0.0, group_limits=())


class Jobs:
    """Threads that wait in a store."""

    def __init__(self, *threads: str) -> None:
        self.waiting = deque(threads)
        self.deferred: list[LaneJob] = []

    async def take(self, search: JobSearch) -> FoundWork | None:
        return FoundWork(job=LaneJob(thread=self.waiting.popleft())) if self.waiting else None

    async def next_job(self, queues: Sequence[str]) -> float | None:
        return 0.0 if self.waiting else None

    async def defer(self, job: LaneJob) -> None:
        self.deferred.append(job)

    async def due_threads(self, queues: Sequence[str]) -> Sequence[str]:
        return ()


@asynccontextmanager
async def feeding(
    jobs: Jobs, limit: int, **more: int
) -> AsyncGenerator[tuple[JobDispatcher, Lanes]]:
    dispatcher = JobDispatcher(
        limit, None, jobs, search=lambda: SEARCH, take_up=lambda turn: None, told=lambda event: None
    )
    lanes = Lanes(**more)
    async with running(dispatcher, lanes.drain), asyncio.timeout(5):
        feed = asyncio.ensure_future(dispatcher.feed())
        try:
            yield dispatcher, lanes
        finally:
            feed.cancel()
            await asyncio.gather(feed, return_exceptions=True)


async def test_jobs_are_taken_while_there_is_room() -> None:
    jobs = Jobs("a", "b", "c")
    async with feeding(jobs, 2) as (dispatcher, lanes):
        assert sorted(await lanes.until(2)) == ["a", "b"]
        assert dispatcher.full
        assert [*jobs.waiting] == ["c"]
        assert await lanes.end("a", 3) == [*lanes.begun[:2], "c"]


@pytest.mark.parametrize("hastened", [True, False])
async def test_a_job_that_is_told_of_is_looked_for_at_once(
    hastened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_dispatcher, "LOOK", 3600.0)
    jobs = Jobs()
    async with feeding(jobs, 1) as (dispatcher, lanes):
        await asyncio.sleep(0)
        assert not dispatcher.full
        jobs.waiting.append("a")
        if hastened:
            dispatcher.hasten("a")
        else:
            dispatcher.look()
        assert await lanes.until(1) == ["a"]


async def test_at_rest_what_a_thread_has_more_is_left_to_the_nodes() -> None:
    jobs = Jobs("a")
    async with feeding(jobs, 1, a=2) as (dispatcher, lanes):
        await lanes.until(1)
        resting = asyncio.ensure_future(dispatcher.rest())
        await asyncio.sleep(0)
        lanes.running["a"].set()
        await resting
        assert [job.thread for job in jobs.deferred] == ["a"]
        assert lanes.begun == ["a"]
