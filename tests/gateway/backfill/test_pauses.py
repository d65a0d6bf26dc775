"""Pauses of a platform that delivers again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.backfill import pauses
from gateway.backfill.pauses import ALIVE, CONNECTED, Pauses
from gateway.history import Redelivery
from gateway.missed import DAY
from tests.fakes.rooms import Rooms, ServedRooms, room, serving

AGAIN = Redelivery(given_up=300.0, whole=380.0)


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "MARK_EVERY", 0.006)
    monkeypatch.setattr(pauses, "FROZEN", math.inf)  # minutes go by at once


@asynccontextmanager
async def pausing(
    rooms: Rooms, folder: Path, redelivery: Redelivery = AGAIN
) -> AsyncGenerator[tuple[ServedRooms, Pauses]]:
    """A process that is connected."""
    async with serving(rooms, folder) as run, asyncio.TaskGroup() as group:
        noted = run.backfill.pauses(redelivery)
        running = group.create_task(noted.run(lambda: True), name="pauses")
        noted.connected()
        await marked(run, CONNECTED, rooms.clock.time())
        yield run, noted
        running.cancel()


async def marked(run: ServedRooms, name: str, at: float) -> None:
    """Wait for a mark."""
    async with asyncio.timeout(10):
        while (await run.gateway.marks.read("rooms", name)).get(name) != f"{at:.3f}":  # noqa: ASYNC110 (a store tells nobody)
            await asyncio.sleep(0.002)


async def test_nothing_is_looked_for_at_the_first_start(tmp_path: Path) -> None:
    rooms = Rooms()
    rooms.say(room("lobby"), "before")
    rooms.clock.advance(60)
    async with pausing(rooms, tmp_path) as (run, _):
        await marked(run, ALIVE, rooms.clock.time())
        assert rooms.reads == []


@pytest.mark.parametrize(("away", "reads"), [(10.0, False), (25.0, True)])
async def test_a_short_pause_is_left_to_what_is_delivered_again(
    tmp_path: Path, away: float, reads: bool
) -> None:
    rooms = Rooms()
    async with pausing(rooms, tmp_path):
        pass
    rooms.clock.advance(away - 1)
    rooms.say(room("lobby"), "meanwhile")
    async with pausing(rooms, tmp_path) as (run, _):
        await run.caught_up()
        assert await run.heard() == ["meanwhile"] * reads


async def test_without_redelivery_each_pause_is_looked_at(tmp_path: Path) -> None:
    rooms = Rooms()
    async with pausing(rooms, tmp_path, Redelivery()):
        pass
    rooms.say(room("lobby"), "meanwhile")
    async with pausing(rooms, tmp_path, Redelivery()) as (run, _):
        await run.caught_up()
        assert await run.heard() == ["meanwhile"]


async def test_a_process_that_dies_again_and_again_forgets_nobody(tmp_path: Path) -> None:
    rooms, said = Rooms(), list[str]()
    for n in range(10):
        async with pausing(rooms, tmp_path) as (run, _):
            await run.caught_up()
            rooms.clock.advance(40)
            await marked(run, CONNECTED, rooms.clock.time())
        said.append(f"m{n}")
        rooms.clock.advance(9)
        rooms.say(room("lobby"), said[-1])
    rooms.clock.advance(20)
    async with pausing(rooms, tmp_path) as (run, _):
        await run.caught_up()
        assert await run.heard() == said


async def test_what_could_not_be_stored_is_looked_for(tmp_path: Path) -> None:
    rooms = Rooms()
    async with pausing(rooms, tmp_path) as (run, noted):
        rooms.clock.advance(1000)
        await marked(run, ALIVE, rooms.clock.time())
        line = rooms.say(room("lobby"), "failed")
        rooms.clock.advance(30)
        noted.failed(float(line.id[:-4]))
        await run.until(lambda: "lobby" in rooms.reads)
        await run.caught_up()
        assert await run.heard() == ["failed"]


async def test_a_mark_in_the_future_hides_no_pause(tmp_path: Path) -> None:
    rooms = Rooms()
    rooms.clock.advance(30 * DAY)
    async with pausing(rooms, tmp_path) as (run, _):
        await run.gateway.marks.keep("rooms", ALIVE, f"{rooms.clock.time() + 5 * DAY:.3f}")
    rooms.say(room("lobby"), "meanwhile")
    rooms.clock.advance(60)
    async with pausing(rooms, tmp_path) as (run, _):
        await run.caught_up()
        assert await run.heard() == ["meanwhile"]


async def test_what_the_platform_leaves_out_is_looked_for_once_it_is_over(tmp_path: Path) -> None:
    rooms = Rooms()
    async with pausing(rooms, tmp_path) as (run, noted):
        rooms.clock.advance(1000)
        await marked(run, ALIVE, rooms.clock.time())
        since = rooms.clock.time()
        await noted.leave_out(since, since + 60)
        rooms.say(room("lobby"), "left out")
        rooms.clock.advance(58)
        assert rooms.reads == []
        rooms.clock.advance(2)
        await run.until(lambda: "lobby" in rooms.reads)
        await run.caught_up()
        assert await run.heard() == ["left out"]
