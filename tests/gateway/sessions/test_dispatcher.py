import asyncio
from collections.abc import Callable
from contextlib import ExitStack, asynccontextmanager

import pytest

from gateway.errors import StoreFull
from gateway.sessions.dispatcher import Drain, LocalDispatcher, TellHold, tell_nobody
from gateway.store.decisions import PersonLimits
from gateway.store.turn_records import Hold


class Lanes:
    """Lanes whose turns the test ends; `more` is their remaining work."""

    def __init__(self, **more: int) -> None:
        self.more = more
        self.begun: list[str] = []
        self.running: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Event()

    async def drain(self, thread: str) -> bool:
        assert thread not in self.running, "two turns of a thread at a time"
        self.begun.append(thread)
        self.running[thread] = asyncio.Event()
        self._changed.set()
        await self.running[thread].wait()
        del self.running[thread]
        self.more[thread] = self.more.get(thread, 1) - 1
        return self.more[thread] > 0

    async def until(self, count: int) -> list[str]:
        """The threads that have begun, once there are this many."""
        while len(self.begun) < count:
            self._changed.clear()
            await self._changed.wait()
        return self.begun

    async def end(self, thread: str, count: int) -> list[str]:
        self.running[thread].set()
        return await self.until(count)


@asynccontextmanager
async def running(dispatcher: LocalDispatcher, drain: Drain):
    task = asyncio.ensure_future(dispatcher.serve(drain))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def serving(limit: int, group_limits=None, *, tell: TellHold = tell_nobody, **more: int):
    dispatcher, lanes = LocalDispatcher(limit, group_limits, tell=tell), Lanes(**more)
    async with running(dispatcher, lanes.drain):
        yield dispatcher, lanes


async def test_threads_run_side_by_side_up_to_the_limit():
    async with serving(2) as (dispatcher, lanes):
        for thread in "abc":
            dispatcher.wake(thread)
        assert await lanes.until(2) == ["a", "b"]
        assert await lanes.end("b", 3) == ["a", "b", "c"]


async def test_people_take_turns_however_many_threads_one_of_them_has():
    async with serving(1) as (dispatcher, lanes):
        for thread in ("a1", "a2", "a3"):
            dispatcher.wake(thread, person="ann")
        dispatcher.wake("b1", person="bob")
        await lanes.until(1)
        for count, thread in enumerate(("a1", "b1", "a2"), start=2):
            await lanes.end(thread, count)
        assert lanes.begun == ["a1", "b1", "a2", "a3"]


async def test_a_thread_that_has_more_to_do_goes_to_the_end_of_the_line():
    async with serving(1, a=2) as (dispatcher, lanes):
        dispatcher.wake("a")
        dispatcher.wake("b")
        await lanes.until(1)
        await lanes.end("a", 2)
        assert await lanes.end("b", 3) == ["a", "b", "a"]


async def test_a_thread_woken_during_its_turn_has_another_one_and_only_one():
    async with serving(1) as (dispatcher, lanes):
        dispatcher.wake("a")
        await lanes.until(1)
        dispatcher.wake("a")
        dispatcher.wake("a")
        await lanes.end("a", 2)
        dispatcher.wake("b")
        assert await lanes.end("a", 3) == ["a", "a", "b"]


async def test_a_delayed_thread_comes_later():
    async with serving(1) as (dispatcher, lanes):
        dispatcher.wake("late", delay=0.01)
        dispatcher.wake("soon")
        assert await lanes.until(1) == ["soon"]
        assert await lanes.end("soon", 2) == ["soon", "late"]


async def test_a_lane_that_fails_does_not_stop_the_others(caplog):
    async def drain(thread):
        if thread == "bad":
            raise RuntimeError("a bug")
        done.set()
        return False

    done = asyncio.Event()
    dispatcher = LocalDispatcher(1)
    async with running(dispatcher, drain):
        dispatcher.wake("bad")
        dispatcher.wake("good")
        await done.wait()
    assert "thread bad: its lane failed" in caplog.text


async def test_at_rest_nothing_new_begins():
    async with serving(2) as (dispatcher, lanes):
        dispatcher.wake("a")
        await lanes.until(1)
        resting = asyncio.ensure_future(dispatcher.rest())
        await asyncio.sleep(0)
        dispatcher.wake("b")
        assert not resting.done()
        lanes.running["a"].set()
        await resting
        assert lanes.begun == ["a"]


async def test_a_crowd_that_has_its_share_is_passed_over_until_one_of_it_ends():
    slow, quick = (("team", "slow"),), (("team", "quick"), ("workspace", "slack:T1"))
    async with serving(10, {"team": 2}) as (dispatcher, lanes):
        for number in range(4):
            dispatcher.wake(f"s{number}", person=f"p{number}", groups=slow)
        dispatcher.wake("q", person="p9", groups=quick)
        assert await lanes.until(3) == ["s0", "s1", "q"]
        assert await lanes.end("s1", 4) == ["s0", "s1", "q", "s2"]
        assert await lanes.end("s0", 5) == ["s0", "s1", "q", "s2", "s3"]


async def test_a_thread_that_is_tried_again_still_counts_for_its_crowds():
    groups = (("workspace", "slack:T1"),)
    async with serving(10, {"workspace": 1}) as (dispatcher, lanes):
        dispatcher.wake("a", person="ann", groups=groups)
        await lanes.until(1)
        dispatcher.wake("a", delay=0.01)
        await lanes.end("a", 2)
        dispatcher.wake("b", person="ben", groups=groups)
        dispatcher.wake("c")
        assert await lanes.until(3) == ["a", "a", "c"]
        assert await lanes.end("a", 4) == ["a", "a", "c", "b"]


async def test_a_thousand_people_share_two_places_of_a_team_fairly():
    """A person's hundred threads get no second turn before everybody's first."""
    groups = (("team", "demo"), ("workspace", "slack:T1"))
    begun: list[str] = []
    most = now = 0

    async def drain(thread: str) -> bool:
        nonlocal most, now
        begun.append(thread)
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        if len(begun) == 1099:
            done.set()
        return False

    done = asyncio.Event()
    dispatcher = LocalDispatcher(16, {"team": 2, "workspace": 8})
    async with running(dispatcher, drain):
        for number in range(100):
            dispatcher.wake(f"busy {number}", person="busy", groups=groups)
        for number in range(999):
            dispatcher.wake(f"person {number}", person=str(number), groups=groups)
        await done.wait()
    assert most == 2
    first = [thread for thread in begun[:1000] if thread.startswith("busy")]
    assert len(first) <= 2


LIMITS = PersonLimits(turns=2, parallel=1)


def rooms(dispatcher: LocalDispatcher, count: int, person: str = "ann", limits=None) -> list[bool]:
    """Answers to who asks for room so often at the same time."""
    with ExitStack() as stack:
        return [stack.enter_context(dispatcher.room(person, limits)) for _ in range(count)]


async def test_there_is_room_for_as_many_turns_as_may_run_and_each_is_given_once():
    async with serving(3) as (dispatcher, lanes):
        dispatcher.wake("a")
        await lanes.until(1)
        assert rooms(dispatcher, 4) == [True, True, False, False]
        assert rooms(dispatcher, 1) == [True]
        dispatcher.run("b")
        assert rooms(dispatcher, 2) == [True, False]
        await lanes.until(2)
        assert rooms(dispatcher, 2) == [True, False]


async def test_there_is_no_room_beside_a_person_s_limits_for_who_waits_and_in_groups():
    async with serving(2) as (dispatcher, lanes):
        assert rooms(dispatcher, 2, "ann", LIMITS) == [True, False]
        dispatcher.wake("a", person="ann", limits=LIMITS)
        await lanes.until(1)
        assert rooms(dispatcher, 1, "ann", LIMITS) == [False]
        assert rooms(dispatcher, 1, "bob", LIMITS) == [True]
        dispatcher.wake("b", person="ann", limits=LIMITS)
        assert rooms(dispatcher, 1, "bob", LIMITS) == [False], "b comes first"
    assert rooms(LocalDispatcher(9, {"team": 9}), 1) == [False]


async def test_a_claimed_turn_runs_before_who_waits_and_never_beside_its_own_thread():
    async with serving(1, a=1) as (dispatcher, lanes):
        dispatcher.run("a")
        await lanes.until(1)
        dispatcher.wake("b")
        dispatcher.run("a")
        assert await lanes.end("a", 2) == ["a", "a"]
        assert await lanes.end("a", 3) == ["a", "a", "b"]


async def _pause():
    """Let everything run that is ready."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("first", ["wake", "run"])
async def test_a_thread_that_is_woken_beside_its_claimed_turn_runs_once_at_a_time(first):
    async with serving(2) as (dispatcher, lanes):
        await _pause()
        if first == "wake":
            dispatcher.wake("a")
        dispatcher.run("a")
        if first == "run":
            dispatcher.wake("a")
        assert await lanes.until(1) == ["a"]
        await _pause()
        assert lanes.begun == ["a"]
        assert await lanes.end("a", 2) == ["a", "a"], "it may have been woken for something else"


async def test_a_claimed_turn_counts_against_its_person_before_it_runs():
    async with serving(4) as (dispatcher, lanes):
        await _pause()
        with dispatcher.room("ann", LIMITS):
            dispatcher.run("a", person="ann", limits=LIMITS)
        assert rooms(dispatcher, 1, "ann", LIMITS) == [False]
        assert rooms(dispatcher, 1, "bob", LIMITS) == [True]
        dispatcher.wake("b", person="ann", limits=LIMITS)
        await lanes.until(1)
        await _pause()
        assert lanes.begun == ["a"]
        assert await lanes.end("a", 2) == ["a", "b"]


@pytest.mark.parametrize(("limit", "person"), [(1, "bob"), (9, "ann")])
async def test_no_turn_begins_in_the_room_that_is_kept_for_another(limit, person):
    async with serving(limit) as (dispatcher, lanes):
        await _pause()
        with dispatcher.room("ann", LIMITS):
            dispatcher.wake("b", person=person, limits=LIMITS)
            await _pause()
            assert lanes.begun == []
            dispatcher.run("a", person="ann", limits=LIMITS)
        assert await lanes.until(1) == ["a"]
        assert await lanes.end("a", 2) == ["a", "b"]


async def test_who_waits_begins_once_a_kept_room_was_not_needed():
    async with serving(1) as (dispatcher, lanes):
        await _pause()
        with dispatcher.room("ann", LIMITS):
            dispatcher.wake("b", person="ann", limits=LIMITS)
            await _pause()
        assert await lanes.until(1) == ["b"]


async def test_claimed_turns_for_which_there_is_no_room_any_more_run_one_after_another():
    async with serving(1) as (dispatcher, lanes):
        for thread in "ab":  # who asked for room has left, or the limit was lowered
            dispatcher.run(thread)
        await lanes.until(1)
        await _pause()
        assert lanes.begun == ["a"]
        assert await lanes.end("a", 2) == ["a", "b"]


async def test_rest_waits_for_claimed_turns_and_for_kept_rooms():
    async with serving(1) as (dispatcher, lanes):
        with dispatcher.room("ann", None) as free:
            assert free
            resting = asyncio.ensure_future(dispatcher.rest())
            await asyncio.sleep(0)
            dispatcher.run("a")
        await lanes.until(1)
        assert not resting.done()
        assert rooms(dispatcher, 1) == [False]
        lanes.running["a"].set()
        await resting


# --- holds ---


@asynccontextmanager
async def telling(limit: int = 9, **groups: int):
    told, heard = list[tuple[str, Hold]](), asyncio.Event()

    async def tell(thread: str, hold: Hold) -> None:
        told.append((thread, hold))
        heard.set()
        if thread == "bad":
            raise StoreFull

    async with serving(limit, groups, tell=tell) as (dispatcher, lanes):
        yield dispatcher, lanes, told, heard


@pytest.mark.usefixtures("told_at_once")
async def test_each_who_waits_is_told_once_and_by_when_the_turn_may_begin():
    limits = PersonLimits(parallel=9, turns=1)
    async with telling() as (dispatcher, lanes, told, heard):
        for thread in "abc":
            dispatcher.wake(thread, person="ann", limits=limits)
        await lanes.until(1)
        await heard.wait()
        dispatcher.wake("other")
        await lanes.until(2)
        assert [(thread, hold.limit, round(hold.seconds, -1)) for thread, hold in told] == [
            ("b", "person_turns", 600),
            ("c", "person_turns", 1200),
        ]


@pytest.mark.usefixtures("told_at_once")
async def test_a_hold_that_becomes_another_one_is_told_and_one_that_cant_be_told_harms_nobody():
    one, free = PersonLimits(parallel=1, turns=9), None
    async with telling(limit=2) as (dispatcher, lanes, told, heard):
        dispatcher.wake("a", person="ann", limits=one)
        dispatcher.wake("bad", person="ann", limits=one)
        await heard.wait()
        dispatcher.wake("b", person="bob", limits=free)
        heard.clear()
        dispatcher.wake("c", person="cid", limits=free)
        await heard.wait()
        assert [(thread, hold.limit) for thread, hold in told] == [
            ("bad", "person_parallel_turns"),
            ("bad", "person_parallel_turns"),
            ("c", "parallel_turns"),
        ]
        heard.clear()
        dispatcher.wake("d", person="bob", limits=free)
        await heard.wait()
        await lanes.end("a", 3)  # the person may, but all places are taken
        assert lanes.begun[2] in ("bad", "c")


async def test_nobody_is_told_of_a_wait_that_is_over_in_a_moment():
    async with telling(limit=1) as (dispatcher, lanes, told, _):
        dispatcher.wake("a")
        dispatcher.wake("b")
        await lanes.until(1)
        await lanes.end("a", 2)
    assert told == []


async def begun_by(
    dispatcher: LocalDispatcher, limits: PersonLimits, acts: dict[str, Callable[[], None]]
) -> list[str]:
    """The threads begun, up to the first without an act."""
    begun: list[str] = []
    done = asyncio.Event()

    async def drain(thread: str) -> bool:
        begun.append(thread)
        acts.get(thread, done.set)()
        return False

    async with running(dispatcher, drain):
        dispatcher.wake("a", person="ann", limits=limits)
        await done.wait()
    return begun


async def test_a_turn_that_is_put_off_is_not_counted_for_its_person():
    limits, dispatcher = PersonLimits(parallel=1, turns=1), LocalDispatcher(9)

    def put_off() -> None:
        dispatcher.put_off("a", 600)
        dispatcher.wake("b", person="ann", limits=limits)

    assert await begun_by(dispatcher, limits, {"a": put_off}) == ["a", "b"]


async def test_what_was_not_counted_for_a_person_is_not_taken_back():
    limits, dispatcher = PersonLimits(parallel=9, turns=1), LocalDispatcher(9)

    def put_off() -> None:
        dispatcher.put_off("b", 600)
        dispatcher.wake("c", person="ann", limits=limits)
        dispatcher.wake("d", person="bob", limits=limits)

    acts = {"a": lambda: dispatcher.wake("b", person="ann"), "b": put_off}
    assert await begun_by(dispatcher, limits, acts) == ["a", "b", "d"]
