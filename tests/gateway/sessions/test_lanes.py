"""Turns of each thread in order, on a cached team."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import time
from typing import Any, cast

import pytest

from gateway.app.stores import AnyStore
from gateway.base.metrics import Metrics
from gateway.budgets.ledger import Ledger
from gateway.content.attachments import MISSING
from gateway.events import InputRequested, MessageJoined, SessionEvent, TurnFinished, TurnHeld
from gateway.registry import ToolRule
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.lanes import Lanes
from gateway.sessions.turn_settings import TurnSettings
from gateway.store.decisions import ModeChange
from gateway.store.rulebook import TurnClaim
from gateway.store.turn_records import Hold
from gateway.store.units import events as event_units
from gateway.store.units import threads, usage
from teams.base import Team
from tests.fakes.new_store import new_store
from tests.gateway.scripted import Door, ScriptedTeams, calls, model, solo
from tests.gateway.store.talk import ANN, begin, take

HOLD = Hold(limit="parallel_turns", most=1)


@dataclass
class Source(ScriptedTeams):
    """Scripted teams that note whether they were closed."""

    closed: bool = False

    async def aclose(self) -> None:
        self.closed = True


@dataclass
class Dispatcher:
    """A dispatcher that notes what is asked of it."""

    put: list[tuple[str, float]] = field(default_factory=list)

    def wake(self, thread: str, **more: Any) -> None:
        pass

    def put_off(self, thread: str, delay: float) -> None:
        self.put.append((thread, delay))


@dataclass
class Scene:
    """Lanes on a store."""

    lanes: Lanes
    store: AnyStore
    dispatcher: Dispatcher

    async def told(self, kind: type) -> list[Any]:
        found: list[SessionEvent] = await self.store.run(event_units.events, "t")
        return [event for event in found if isinstance(event, kind)]


@asynccontextmanager
async def scene(
    folder: Path, make: Callable[[], Team] | ScriptedTeams = lambda: solo(model("Hello.", "Ho."))
) -> AsyncGenerator[Scene]:
    store, vitals = new_store(folder), Metrics()
    ledger = Ledger(
        partial(store.run, usage.spent), exempt=lambda _: True, clock=time, vitals=vitals
    )
    lanes = Lanes(
        store,
        LocalBus(),
        make if isinstance(make, ScriptedTeams) else Source(make),
        boot="boot",
        vitals=vitals,
        ledger=ledger,
        terms=TurnSettings(quiet=5.0),
        speaks=lambda: True,
    )
    dispatcher = Dispatcher()
    lanes.dispatcher = cast("Any", dispatcher)
    async with store.own():
        closing = asyncio.ensure_future(lanes.closing.run())
        try:
            yield Scene(lanes, store, dispatcher)
        finally:
            await lanes.close_teams()
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)


class Waits:
    """A team that waits in its tool."""

    def __init__(self, *more: Any) -> None:
        self.door = Door()
        self._answers = [*more, "Done.", "More."]

    async def wait(self) -> str:
        """Wait."""
        await self.door.pass_through()
        return "ok"

    async def send(self) -> str:
        """Send."""
        return "sent"

    def make(self) -> Team:
        return solo(calls("wait"), *self._answers, tools=[self.wait, self.send])


@asynccontextmanager
async def waiting(
    folder: Path, team: Waits, teams: ScriptedTeams | None = None
) -> AsyncGenerator[tuple[Scene, str, asyncio.Task[bool]]]:
    """A scene whose turn waits in its tool; its id and lane."""
    async with scene(folder, teams or team.make) as found:
        await take(found.store)
        lane = asyncio.ensure_future(found.lanes.drain("t"))
        await team.door.reached.wait()
        [row] = await found.store.read(lambda it: it.fetch("SELECT id FROM turns"))
        yield found, row["id"], lane


async def test_a_lane_runs_its_turns_in_order_and_keeps_the_team(tmp_path: Path) -> None:
    async with scene(tmp_path) as found:
        lanes = found.lanes
        await take(found.store)
        await take(found.store, "and then")
        assert [await lanes.drain("t"), await lanes.drain("t")] == [True, False]
        assert [each.outcome for each in await found.told(TurnFinished)] == ["done", "done"]
        assert (lanes.live, lanes.running, lanes.has("t")) == (1, 0, False)
        assert lanes.live_bytes > 0
        lanes.evict(-1.0)
        assert lanes.live == 0


async def test_a_turn_that_is_claimed_already_is_run(tmp_path: Path) -> None:
    async with scene(tmp_path) as found:
        await take(found.store)
        work = await begin(found.store)
        assert not found.lanes.has("t")
        found.lanes.take_up(work)
        assert found.lanes.has("t")
        await found.lanes.drain("t")
        assert (await found.store.run(threads.thread, "t")).epoch == work.lease.epoch


async def test_a_claim_has_the_terms_of_the_moment(tmp_path: Path) -> None:
    async with scene(tmp_path) as found:
        assert found.lanes.claim == TurnClaim(boot="boot", words=MISSING, quiet=5.0)


async def test_a_turn_that_waits_for_more_is_put_off(tmp_path: Path) -> None:
    async with scene(tmp_path) as found:
        await take(found.store)
        await take(found.store, "/mode", ModeChange(mode="collect", reply=""), kind="command")
        assert not await found.lanes.drain("t")
        [(thread, delay)] = found.dispatcher.put
        assert thread == "t"
        assert 0 < delay <= 5.0


async def test_a_held_thread_is_told_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gateway")
    async with scene(tmp_path) as found:
        await take(found.store)
        await found.lanes.tell_hold("t", HOLD)
        [held] = await found.told(TurnHeld)
        assert "thread t: held by parallel_turns" in caplog.text
        caplog.clear()
        found.lanes.note_held(held)
        assert "thread t: held by parallel_turns" in caplog.text


async def test_a_running_turn_is_stopped(tmp_path: Path) -> None:
    team = Waits()
    async with waiting(tmp_path, team) as (found, turn, lane):
        assert (found.lanes.running, found.lanes.has("t")) == (1, True)
        found.lanes.stop("t", turn)
        await lane
        assert [each.outcome for each in await found.told(TurnFinished)] == ["stopped"]


async def test_a_deleted_threads_turn_is_stopped_and_its_team_dropped(tmp_path: Path) -> None:
    team = Waits()
    async with waiting(tmp_path, team) as (found, _, lane):
        found.lanes.forget("t")
        await lane
        assert [each.outcome for each in await found.told(TurnFinished)] == ["stopped"]
    async with scene(tmp_path / "b") as found:
        await take(found.store)
        await found.lanes.drain("t")
        found.lanes.forget("t")
        assert found.lanes.live == 0


async def test_a_running_turn_pauses_at_its_next_safe_point(tmp_path: Path) -> None:
    team = Waits()
    async with waiting(tmp_path, team) as (found, _, lane):
        found.lanes.pause()
        team.door.open()
        await lane
        assert await found.told(TurnFinished) == []
        [row] = await found.store.read(lambda it: it.fetch("SELECT status FROM turns"))
        assert row["status"] == "paused"


async def test_a_message_joins_the_running_turn(tmp_path: Path) -> None:
    team = Waits()
    async with waiting(tmp_path, team) as (found, turn, lane):
        await take(found.store, "/mode", ModeChange(mode="steer", reply=""), kind="command")
        await take(found.store, "and this")
        found.lanes.steer("t", turn)
        team.door.open()
        assert not await lane
        assert len(await found.told(MessageJoined)) == 1


async def test_a_tool_is_asked_for_again_once_its_approval_is_revoked(tmp_path: Path) -> None:
    team = Waits(calls("send"))
    rules = {"send": ToolRule(action="ask", always_allowed=True)}
    grant = (
        "INSERT INTO grants (thread, tool, scope, person, granted_by, granted_at)"
        " VALUES ('t', 'send', '', :person, :person, 1)"
    )
    async with scene(tmp_path, ScriptedTeams(team.make, rules=rules)) as found:
        await take(found.store)
        await found.store.write(lambda it: it.execute(grant, {"person": ANN.id}))
        lane = asyncio.ensure_future(found.lanes.drain("t"))
        await team.door.reached.wait()
        found.lanes.revoke("t", "send")
        team.door.open()
        await lane
        [asked] = await found.told(InputRequested)
        assert asked.tool == "send"


async def test_new_turns_use_another_source_and_the_old_one_is_closed_with_its_last(
    tmp_path: Path,
) -> None:
    team, terms = Waits(), TurnSettings(quiet=1.0)
    old, new = Source(team.make), Source(lambda: solo("Newer."))
    async with waiting(tmp_path, team, old) as (found, _, lane):
        await found.lanes.use(new, terms)
        assert (found.lanes.claim.quiet, old.closed) == (1.0, False)
        team.door.open()
        await lane
        assert old.closed
        await take(found.store, "more")
        await found.lanes.drain("t")
        assert new.built == 1


async def test_an_old_source_is_closed_whatever_runs_on_it(tmp_path: Path) -> None:
    team = Waits()
    old = Source(team.make)
    async with waiting(tmp_path, team, old) as (found, turn, lane):
        await found.lanes.use(Source(team.make), TurnSettings())
        await found.lanes.close_retired()
        assert old.closed
        found.lanes.stop("t", turn)
        await lane


async def test_teams_that_are_left_are_closed(tmp_path: Path) -> None:
    async with scene(tmp_path) as found:
        await take(found.store)
        await found.lanes.drain("t")
        assert found.lanes.live == 1
        await found.lanes.close_teams()
        assert found.lanes.live == 0
