"""Lanes that nodes hold, and the load of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.app.stores import AnyStore
from gateway.store.connection import Connection
from gateway.store.decisions import PersonLimits
from gateway.store.jobs import LaneJob
from gateway.store.nodes import NodeTurn
from gateway.store.records import PersonLoad
from gateway.store.units import lanes
from gateway.store.units.rows import FREE, scalar
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import is_on_postgres, new_store
from tests.gateway.store.talk import ANN, begun, end, place, take

pytestmark = pytest.mark.usefixtures("database")

LIMITS = PersonLimits(parallel=1, turns=2)
GROUPS = (("team", "demo"), ("workspace", "x:T1"))


@pytest.mark.parametrize(
    ("limits", "load", "room"),
    [
        (None, PersonLoad(running=9, begun=9, waiting=0), True),
        (LIMITS, PersonLoad(running=0, begun=1, waiting=9), True),
        (LIMITS, PersonLoad(running=1, begun=1, waiting=0), False),
        (LIMITS, PersonLoad(running=0, begun=2, waiting=0), False),
    ],
)
def test_limits_leave_room_for_a_turn(
    limits: PersonLimits | None, load: PersonLoad, room: bool
) -> None:
    assert lanes.has_room(limits, load) is room


async def test_a_persons_turns_are_counted_for_a_while(tmp_path: Path) -> None:
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    async with store.own():
        work = await begun(store)
        began = clock.time()
        await take(store, thread="u", key=place("2"))
        load = await store.read(lambda it: lanes.load_of(it, ANN.id, 9))
        assert (load.running, load.begun, load.waiting) == (1, 1, 1)
        assert await store.read(lanes.running_in_groups) == dict.fromkeys(GROUPS, 1)
        await end(store, work)
        at = await store.read(lambda it: lanes.begins_at(it, ANN.id, "u", 1))
        assert at == began + lanes.PERSON_WINDOW
        clock.advance(lanes.PERSON_WINDOW + 1)
        load = await store.read(lambda it: lanes.load_of(it, ANN.id, 9))
        assert (load.running, load.begun) == (0, 0)


async def test_turns_are_told_by_their_node(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        [turn] = await store.read(lambda it: lanes.turns_of(it, "boot"))
        assert turn == NodeTurn(thread="t", turn=work.lease.turn, stop=False, steer=False)
        assert await store.read(lambda it: lanes.turns_of(it, "other")) == ()
        assert await store.run(lanes.running_elsewhere, "boot") == frozenset()
        assert await store.run(lanes.running_elsewhere, "other") == {"t"}


async def owner(store: AnyStore) -> str:
    return await store.read(lambda it: scalar(it, "SELECT owner FROM threads"))


async def hold(store: AnyStore, node: str) -> None:
    """Let a node hold the lane."""
    await store.write(lambda it: it.execute("UPDATE threads SET owner = :node", {"node": node}))


async def test_a_lane_with_something_to_tell_finds_another_node(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        await hold(store, "boot")
        assert await store.read(lambda it: lanes.untold_of(it, "boot", 0.0)) == ("t",)
        assert await store.read(lambda it: lanes.untold_of(it, "other", 0.0)) == ()
        await store.write(lambda it: lanes.free_lanes_of(it, "other"))
        assert await owner(store) == "boot"
        await store.write(lambda it: lanes.free_lanes_of(it, "boot"))
        assert await owner(store) == FREE
        await hold(store, "dead")
        await store.write(lanes.free_lost_lanes)
        assert await owner(store) == FREE


async def test_a_node_takes_free_lanes_of_its_platforms(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    if is_on_postgres():
        return  # nodes say more of themselves there
    node = (
        "INSERT INTO nodes (boot, name, version, since, beat, patience)"
        " VALUES ('n', 'n', '1', 0, 0, 9)"
    )
    async with store.own():
        await end(store, await begun(store))
        await hold(store, FREE)
        await store.write(lambda it: it.execute(node))
        taken = [
            await store.write(lambda it, p=platforms, b=boot: lanes.adopt(it, b, p))
            for boot, platforms in [("n", ["y"]), ("none", ["x"]), ("n", ["y", "x"])]
        ]
        assert taken == [[], [], ["t"]]
        assert await owner(store) == "n"


async def test_work_that_no_node_has_is_deferred(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    deferred: list[LaneJob] = []

    class Deferring:
        """A connection that keeps what is deferred."""

        def __init__(self, connection: Connection) -> None:
            self.fetch, self.lock, self.now = connection.fetch, connection.lock, connection.now
            self.defer = deferred.append

    async with store.own():
        await take(store)
        if is_on_postgres():  # it has its job
            await store.write(lambda it: it.execute("DELETE FROM procrastinate_jobs"))
        [job] = await store.read(lanes.lost_jobs)
        assert job == LaneJob(thread="t", person=ANN.id, groups=GROUPS, hastens=False)
        await store.read(lambda it: lanes.defer_lost(Deferring(it)))  # type: ignore[arg-type]
        assert deferred == [job]
