"""Work that nodes share: jobs, lanes, leases, signals and healing."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gateway.content.attachments import MISSING
from gateway.conversation import Author
from gateway.errors import NotFound
from gateway.events import Notice
from gateway.outbox import OutboxRow
from gateway.store.decisions import PersonLimits, QueueEntry, TurnRetry
from gateway.store.jobs import FoundWork, JobSearch, LaneJob
from gateway.store.nodes import ANY_PLATFORM, Node
from gateway.store.postgres import jobs
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.reloads import Reload
from gateway.store.rulebook import RecoveryWords
from gateway.store.turn_records import ClaimedTurn
from gateway.store.units import deletion, lanes, outbox
from gateway.store.units import nodes as node_units
from gateway.store.units import threads as thread_units
from gateway.store.units import turns as turn_units
from tests.fakes.tcp_proxy import TcpProxy
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import ANN, BOB, begin, end, jobs_of, place, take

WORDS = RecoveryWords(interrupted="it goes on", parked="", reason="")
TWO_AT_ONCE = QueueEntry(limits=PersonLimits(parallel=2, turns=100))


class SharedStore:
    """A store of two nodes: `a1`, and `b2` behind a proxy."""

    def __init__(self, url: str, proxied: str, folder: Path) -> None:
        self.a = PostgresStore(Database(url=url, pool_size=4), folder / "a")
        self.b = PostgresStore(Database(url=proxied, pool_size=4), folder / "b")

    async def take(self, boot: str, **more: Any) -> FoundWork | None:
        """Work that a node takes."""
        store = self.a if boot == "a1" else self.b
        return await store.take(search(boot, **more))

    async def taken(self, boot: str, **more: Any) -> str:
        """The thread that a node takes, "" for none."""
        work = await self.take(boot, **more)
        return work.turn.lease.thread if work and work.turn else ""

    async def die(self, boot: str) -> None:
        """Let a node be found dead, and be buried by the other."""
        store, other = (self.b, "b2") if boot == "a1" else (self.a, "a1")
        await store.write(
            lambda c: c.execute("UPDATE nodes SET patience = -1e9 WHERE boot = :b", {"b": boot})
        )
        assert await store.dead_nodes(other) == [boot]
        assert await store.bury([boot], WORDS) == [f"node {boot}"]


def search(
    boot: str, *queues: str, limits: dict[str, int] | None = None, quiet: float = 0.0
) -> JobSearch:
    return JobSearch(
        boot=boot,
        queues=queues or ("x", f"node {boot}"),
        words=MISSING,
        quiet=quiet,
        group_limits=tuple((limits or {}).items()),
    )


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(postgres_url) as proxy:
        yield proxy


@pytest.fixture
async def shared(postgres_url, proxy, tmp_path) -> AsyncIterator[SharedStore]:
    shared = SharedStore(postgres_url, proxy.url, tmp_path)
    nodes = [Node(boot=boot, name=f"node {boot}", platforms=("x",)) for boot in ("a1", "b2")]
    async with shared.a.own(nodes[0]), shared.b.own(nodes[1]), asyncio.timeout(30):
        yield shared


async def say(shared: SharedStore, thread: str, text: str = "hi", **more: Any) -> None:
    """Write in a thread that any node may take."""
    await take(shared.a, text, thread=thread, key=place(thread), **more)
    await free(shared)
    await shared.a.heal("a1", [], full=True, all_work=False)


async def hold_lane(shared: SharedStore) -> None:
    """Let `a1` have a thread with something to tell and run."""
    await say(shared, "t")
    work = await shared.take("a1")
    assert work is not None
    assert work.turn is not None
    await end(shared.a, work.turn)
    await take(shared.a, "more", thread="t", key=place("t"))


async def free(shared: SharedStore) -> None:
    """Let everything be told."""
    await shared.a.write(
        lambda c: c.execute(
            "INSERT INTO deliveries (thread, told) SELECT id, last_seq FROM threads WHERE TRUE"
            " ON CONFLICT (thread) DO UPDATE SET told = excluded.told"
        )
    )


async def test_threads_are_taken_in_their_order_and_once(shared):
    for n in range(6):
        await say(shared, f"t{n}", author=Author(id=f"p{n}", name="P"))
    assert [await shared.taken("a1"), await shared.taken("b2")] == ["t0", "t1"]
    rest = await asyncio.gather(*(shared.taken(boot) for boot in ("a1", "b2") * 3))
    assert sorted(rest) == ["", "", "t2", "t3", "t4", "t5"]
    assert await jobs_of(shared.a) == []
    assert await shared.take("a1") is None


async def test_who_waits_for_much_comes_behind_others_until_time_has_passed(shared):
    for n in range(4):
        await say(shared, f"ann{n}")
    await say(shared, "bob", author=BOB)
    assert [await shared.taken("a1") for _ in range(3)] == ["ann0", "bob", "ann1"]
    for n in range(30):
        await say(shared, f"new{n}", author=Author(id=f"p{n}", name="P"))
    for _ in range(2):
        await shared.a.heal("a1", ["x"], full=False, all_work=True)
    assert await shared.taken("a1") == "ann2"


async def test_a_persons_limit_holds_over_all_nodes_at_once(shared):
    for n in range(10):
        await say(shared, f"t{n}", decision=TWO_AT_ONCE)
    taken = await asyncio.gather(*(shared.taken(boot) for boot in ("a1", "b2") * 4))
    assert len([thread for thread in taken if thread]) == 2
    delayed = await rows_of(
        shared.a, "SELECT scheduled_at > now() FROM procrastinate_jobs WHERE attempts > 0"
    )
    assert delayed
    assert all(later for (later,) in delayed)
    assert len(await jobs_of(shared.a)) == 8


async def test_a_groups_limit_holds_over_all_nodes_at_once(shared):
    for n in range(10):
        await say(shared, f"t{n}", author=Author(id=f"p{n}", name="P"))
    limits = {"workspace": 3}
    taken = await asyncio.gather(*(shared.taken(b, limits=limits) for b in ("a1", "b2") * 4))
    assert len([thread for thread in taken if thread]) == 3
    assert await shared.taken("a1", limits={"team": 3}) == ""


async def test_a_turn_of_a_dead_node_does_not_stand_in_the_way_of_its_own_limit(shared):
    await say(shared, "t", decision=QueueEntry(limits=PersonLimits(parallel=1, turns=1)))
    work = await shared.take("a1", limits={"team": 1})
    assert work is not None
    assert work.turn is not None
    await shared.die("a1")
    again = await shared.take("b2", limits={"team": 1})
    assert again is not None
    assert again.turn is not None
    assert (again.turn.lease.turn, again.turn.resumed) == (work.turn.lease.turn, True)
    assert again.turn.lease.epoch > work.turn.lease.epoch


async def test_a_thread_that_collects_is_put_back_until_it_is_quiet(shared):
    await say(shared, "t")
    await shared.a.write(lambda c: c.execute("UPDATE threads SET mode = 'collect'"))
    assert await shared.take("b2", quiet=60.0) is None
    assert await shared.take("a1", quiet=0.0) is None
    await say(shared, "t", "more")
    assert await shared.taken("a1", quiet=0.0) == "t"


async def test_a_lane_with_something_to_tell_stays_where_it_is(shared):
    await say(shared, "t")
    work = await shared.take("a1")
    assert work is not None
    assert work.turn is not None
    await end(shared.a, work.turn)
    await take(shared.b, "more", thread="t", key=place("t"))
    assert await shared.taken("b2") == ""  # it is put where its holder looks
    assert await shared.taken("a1") == "t"


async def test_who_does_not_hold_a_lane_notes_nothing_of_what_it_told(shared):
    """It may have been frozen: another node tells by now."""
    await take(shared.a, "hi", thread="t", key=place("t"))
    assert await shared.taken("a1") == "t"
    assert (await shared.a.run(thread_units.thread, "t")).last_seq == await shared.a.run(
        outbox.mark_delivered, "t", 0
    )
    part = OutboxRow(
        key="t/m1/0",
        thread="t",
        place="",
        item="m1",
        n=0,
        seq=1,
        status="pending",
        first_at=1,
        at=1,
    )
    with pytest.raises(NotFound):
        await shared.b.run(outbox.put_part, part)
    with pytest.raises(NotFound):
        await shared.b.run(outbox.mark_delivered, "t", 1)
    await shared.a.run(outbox.put_part, part)
    await shared.die("a1")
    await shared.b.run(outbox.put_part, part)


async def test_jobs_of_a_dead_node_go_to_the_others(shared):
    await hold_lane(shared)
    assert await shared.taken("b2") == ""
    await shared.die("a1")
    assert await shared.taken("b2") == "t"


async def test_a_lane_is_adopted_by_a_node_that_tells_its_platform(shared):
    await take(shared.a, "hi", thread="t", key=place("t"))
    await shared.die("a1")
    assert (await shared.b.heal("b2", [], full=False, all_work=True)).adopted == ()
    assert (await shared.b.heal("b2", ["y"], full=False, all_work=True)).adopted == ()
    assert (await shared.b.heal("b2", ["x"], full=False, all_work=True)).adopted == ("t",)
    assert await shared.taken("b2") == "t"


async def test_lanes_that_nobody_tells_do_not_stand_in_the_way_of_others(shared):
    """Their platform was taken out of the config."""
    await take(shared.a, "hi", thread="t", key=place("t"))
    await shared.die("a1")
    copies = (
        "INSERT INTO threads (id, key, team, definition, owner, last_seq, created_at, updated_at)"
        " SELECT 'old' || n, 'y/old' || n, team, definition, 'free', 1, 0, 0"
        " FROM threads, generate_series(1, :most) AS n"
    )
    await shared.b.write(lambda c: c.execute(copies, {"most": lanes.ADOPTED}))
    assert (await shared.b.heal("b2", ["x"], full=False, all_work=True)).adopted == ("t",)
    everything = await shared.b.heal("b2", [ANY_PLATFORM], full=False, all_work=True)
    assert len(everything.adopted) == lanes.ADOPTED


async def test_a_turn_that_is_not_put_back_yet_is_adopted_by_nobody(shared):
    """Its new holder would be taken for the node that runs it."""
    await say(shared, "t")
    assert await shared.taken("b2") == "t"
    await shared.a.write(lambda c: lanes.free_lanes_of(c, "b2"))
    assert (await shared.a.heal("a1", ["x"], full=False, all_work=True)).adopted == ()
    await shared.die("b2")
    assert await shared.taken("a1") == "t"


async def test_a_turn_that_a_node_has_left_behind_goes_on(postgres_url, tmp_path):
    """Nobody has to declare the node dead for that."""
    left = PostgresStore(Database(url=postgres_url, pool_size=4), tmp_path / "left")
    async with left.own(Node(boot="b2", name="node b2", platforms=("x",))):
        await take(left, "hi", thread="t", key=place("t"))
        work = await left.take(search("b2"))
        assert work is not None
        assert work.turn is not None
    shared = SharedStore(postgres_url, postgres_url, tmp_path)
    async with shared.a.own(Node(boot="a1", name="node a1", platforms=("x",))):
        await take(shared.a, "again", thread="t", key=place("t"))  # which adds an event
        for _ in range(2):
            await shared.a.heal("a1", ["x"], full=False, all_work=True)
        gone = await shared.a.dead_nodes("a1")
        assert gone == ["b2"]
        assert await shared.a.bury(gone, WORDS) == []
        again = await shared.take("a1", limits={"team": 1})
        assert again is not None
        assert again.turn is not None
        assert (again.turn.lease.turn, again.turn.resumed) == (work.turn.lease.turn, True)
        assert await shared.a.dead_nodes("a1") == []


async def test_a_job_of_a_thread_that_is_gone_is_gone_or_finished(shared):
    await say(shared, "t")
    await shared.a.run(deletion.delete_thread, "t")
    assert await jobs_of(shared.a) == []
    insert = "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args) VALUES"
    args = """('x', 'parley.thread', 'none', '{"person": "p", "limits": null, "groups": []}')"""
    await shared.a.write(lambda c: c.execute(f"{insert} {args}"))
    assert await shared.taken("a1") == ""
    assert await jobs_of(shared.a) == []


async def test_work_without_a_job_is_found(shared):
    await say(shared, "t")
    await shared.a.write(lambda c: c.execute("DELETE FROM procrastinate_jobs"))
    await shared.b.heal("b2", ["x"], full=False, all_work=False)
    assert await shared.taken("a1") == ""
    await shared.b.heal("b2", ["x"], full=False, all_work=True)
    assert await shared.taken("a1") == "t"


async def test_threads_without_a_job_get_one_some_at_a_time(shared, monkeypatch):
    monkeypatch.setattr(lanes, "DEFERRED", 2)
    for n in range(5):
        await say(shared, f"t{n}")
    await shared.a.write(lambda c: c.execute("DELETE FROM procrastinate_jobs WHERE lock <> 't1'"))
    found = []
    for _ in range(3):
        await shared.b.heal("b2", ["x"], full=False, all_work=True)
        found.append(len(await jobs_of(shared.a)))
    assert found == [3, 5, 5]


async def test_a_thread_is_hastened_also_while_a_node_heals(shared):
    """Nobody passes over a job whose row is locked just then."""
    await say(shared, "t", decision=QueueEntry(quiet=3600.0))
    aged, going_on = threading.Event(), threading.Event()

    def heal(connection) -> None:
        jobs.age_jobs(connection.pipeline)
        connection.pipeline.wait()
        aged.set()
        going_on.wait(20)

    def hasten(connection) -> None:
        connection.lock("t")
        connection.hasten("t")

    async with asyncio.TaskGroup() as group:
        group.create_task(shared.a.write(heal))
        await asyncio.to_thread(aged.wait)
        hastening = group.create_task(shared.b.write(hasten))
        await asyncio.wait([hastening], timeout=0.5)  # one that passes over it has ended
        going_on.set()
    assert await shared.a.next_job(["x", "node a1"]) == 0


async def test_a_persons_next_thread_runs_when_it_need_not_wait_any_more(shared):
    one_at_once = QueueEntry(limits=PersonLimits(parallel=1, turns=100))
    for n in range(2):
        await say(shared, f"t{n}", decision=one_at_once)
    work = await shared.take("a1")
    assert work is not None
    assert work.turn is not None
    assert await shared.taken("b2") == ""
    await shared.a.write(lambda connection: connection.hasten(person=BOB.id))
    assert await shared.taken("b2") == ""
    await end(shared.a, work.turn)
    assert await shared.taken("b2") == "t1"


async def test_a_persons_retry_runs_when_it_need_not_wait_any_more(shared):
    limits = PersonLimits(parallel=1, turns=100)
    for n in range(2):
        await say(shared, f"t{n}", decision=QueueEntry(limits=PersonLimits(parallel=9, turns=100)))
    first, other = await shared.take("a1"), await shared.take("a1")
    assert first is not None
    assert first.turn is not None
    assert other is not None
    assert other.turn is not None
    await end(shared.a, first.turn, "failed")
    await say(shared, "t0", "/retry", decision=TurnRetry(reply="", limits=limits), kind="command")
    assert await shared.taken("b2") == ""
    await end(shared.a, other.turn)
    await free(shared)
    assert await shared.taken("b2") == "t0"


@pytest.mark.parametrize("first", ["accept", "fetch"])
async def test_a_message_that_comes_while_its_thread_is_taken_wakes_the_thread(shared, first):
    """One transaction waits for the other, whichever is ahead."""
    await say(shared, "t")
    held, go_on = threading.Event(), threading.Event()

    def holds(connection) -> None:
        connection.lock("t")
        connection.fetch("SELECT 1")
        held.set()
        go_on.wait(10)

    def accept() -> Any:
        return take(shared.a, "more", thread="t", key=place("t"))

    steps = [accept, lambda: shared.take("b2")]
    holding = asyncio.ensure_future(shared.a.write(holds))
    await asyncio.to_thread(held.wait, 10)
    both = list[asyncio.Future[Any]]()
    for n, step in enumerate(steps if first == "accept" else steps[::-1], 1):
        both.append(asyncio.ensure_future(step()))
        async with asyncio.timeout(10):
            while len(await rows_of(shared.a, WAITS)) < n:
                pass
    go_on.set()
    await holding
    found: list[Any] = [each for each in await asyncio.gather(*both) if isinstance(each, FoundWork)]
    if not found:  # its holder has something to tell, and runs it
        found = [await shared.take("a1")]
    turns = await rows_of(shared.a, "SELECT COUNT(*) FROM turns WHERE status = 'running'")
    assert turns == [(1,)]
    queued = await rows_of(shared.a, "SELECT COUNT(*) FROM inbox WHERE outcome = 'queued'")
    assert queued == [(1,)]
    (work,) = found
    assert work.turn is not None
    assert work is not None
    await end(shared.b, work.turn)
    await free(shared)
    await shared.b.defer(LaneJob(thread="t", person=ANN.id))
    assert "t" in [await shared.taken("a1"), await shared.taken("b2")]


async def test_a_message_and_who_takes_its_thread_wait_in_the_same_order(shared):
    """Otherwise each would wait for the other."""
    await say(shared, "t", decision=TWO_AT_ONCE)
    held, go_on = threading.Event(), threading.Event()
    names = {"thread": "t", "person": ANN.id}

    def accepts(connection) -> None:
        connection.lock("t")  # as the first of the names that a message locks
        connection.fetch("SELECT 1")
        held.set()
        go_on.wait(10)
        connection.lock_found("SELECT :thread UNION SELECT :person", names)
        connection.fetch("SELECT 1")

    accepting = asyncio.ensure_future(shared.a.write(accepts))
    await asyncio.to_thread(held.wait, 10)
    taking = asyncio.ensure_future(shared.taken("b2"))
    async with asyncio.timeout(10):
        while not await rows_of(shared.a, WAITS):
            pass
    go_on.set()
    await accepting
    assert await taking == "t"
    await shared.a.write(lambda c: c.fetch("SELECT pg_stat_force_next_flush()"))
    assert await rows_of(shared.a, DEADLOCKS) == [(0,)]


DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
WAITS = """
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@pytest.mark.chaos
@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_thread_is_taken_once_although_the_connection_is_lost_in_the_commit(
    shared, proxy, cut
):
    for _ in range(4):
        await shared.taken("b2")  # each statement is prepared
    await say(shared, "t")
    proxy.cut = cut
    assert await shared.taken("b2") == "t"
    assert proxy.was_cut.is_set()
    rows = await rows_of(shared.a, "SELECT owner, epoch FROM threads")
    assert rows[0][0] == "b2"
    assert await jobs_of(shared.a) == []


async def test_a_lease_has_one_holder_until_that_one_lets_go_or_is_dead(shared):
    asked = await asyncio.gather(*(s.hold("shard 0", b) for s, b in both_of(shared) * 4))
    assert sum(asked) == 4
    holder = "a1" if asked[0] else "b2"
    other = "b2" if holder == "a1" else "a1"
    await shared.a.run(node_units.release, "shard 0", other)
    assert not await shared.a.hold("shard 0", other)
    nodes = {each.node.boot: each.leases for each in await shared.a.run(node_units.nodes)}
    assert nodes == {holder: ("shard 0",), other: ()}
    await shared.a.run(node_units.release, "shard 0", holder)
    assert await shared.a.hold("shard 0", "a1")
    await shared.die("a1")
    assert await shared.b.hold("shard 0", "b2")


def both_of(shared: SharedStore) -> list[tuple[PostgresStore, str]]:
    return [(shared.a, "a1"), (shared.b, "b2")]


async def test_a_node_that_drains_gives_back_leases_jobs_and_lanes(shared):
    await hold_lane(shared)
    await shared.a.hold("retention", "a1")
    await shared.a.drain("a1")
    assert await shared.b.hold("retention", "b2")
    assert not await shared.a.hold("reminders", "a1")
    assert await shared.taken("b2") == ""
    await shared.a.leave("a1")
    assert (await shared.a.heal("a1", ["x"], full=True, all_work=True)).adopted == ()
    await shared.b.heal("b2", ["x"], full=False, all_work=True)
    assert await shared.taken("b2") == "t"


@asynccontextmanager
async def hearing(store: PostgresStore) -> AsyncGenerator[Callable[[str], Awaitable[None]]]:
    """Ears of a node; waits for what is told from then on."""
    told, heard = list[str](), asyncio.Event()

    def hear(text: str) -> None:
        told.append(text)
        heard.set()

    async def until(text: str) -> None:
        while text not in told:
            heard.clear()
            await heard.wait()
        told.clear()

    listening = asyncio.ensure_future(store.listen(hear))
    try:
        async with asyncio.timeout(10):
            await until("")
            yield until
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


async def test_nodes_hear_each_other_and_of_new_jobs(shared):
    async with hearing(shared.b) as until:
        await shared.a.signal("stop t u")
        await until("stop t u")
        await say(shared, "t")
        await until("")


async def test_nodes_hear_that_a_persons_next_thread_need_not_wait_any_more(shared):
    one_at_once = QueueEntry(limits=PersonLimits(parallel=1, turns=100))
    for n in range(2):
        await say(shared, f"t{n}", decision=one_at_once)
    work = await shared.take("a1")
    assert work is not None
    assert work.turn is not None
    assert await shared.taken("b2") == ""
    async with hearing(shared.b) as until:
        await end(shared.a, work.turn)
        await until("")
    assert await shared.taken("b2") == "t1"


@pytest.mark.chaos
async def test_two_nodes_run_all_messages_in_order_once(shared):
    """No message is lost, doubled or overtaken."""
    threads, each = [f"t{n}" for n in range(8)], 6
    ran, left = Counter[str](), asyncio.Event()
    order: dict[str, list[str]] = {thread: [] for thread in threads}
    numbers = count()

    async def accept(thread: str) -> None:
        for n in range(each):
            store = (shared.a, shared.b)[next(numbers) % 2]
            await take(
                store,
                f"{n}",
                thread=thread,
                key=place(thread),
                number=f"{1 + threads.index(thread)}.{n}",
            )

    async def work(store: PostgresStore, boot: str) -> None:
        while not left.is_set():
            found = await store.take(search(boot))
            if found is None or found.turn is None:
                await store.heal(boot, ["x"], full=False, all_work=True)
                continue
            turn = found.turn
            order[turn.lease.thread] += [message.text for message in turn.messages]
            ran.update(message.text for message in turn.messages)
            await end(store, turn)
            await free(shared)
            await store.defer(replace(found.job, limits=None))
            if ran.total() >= len(threads) * each:
                left.set()

    async with asyncio.timeout(25), asyncio.TaskGroup() as group:
        for thread in threads:
            group.create_task(accept(thread))
        for store, boot in both_of(shared) * 2:
            group.create_task(work(store, boot))
    assert order == {thread: [str(n) for n in range(each)] for thread in threads}


async def test_procrastinate_has_the_functions_that_are_called(shared):
    query = "SELECT proname FROM pg_proc WHERE proname LIKE 'procrastinate%' ORDER BY 1"
    names = {name for (name,) in await rows_of(shared.a, query)}
    assert names >= {
        "procrastinate_defer_jobs_v1",
        "procrastinate_fetch_job_v2",
        "procrastinate_finish_job_v1",
        "procrastinate_retry_job_v2",
    }


async def test_a_turn_is_claimed_by_one_of_two_that_begin_it(shared):
    await say(shared, "t")
    turns = await asyncio.gather(
        begin(shared.a, boot="a1"), begin(shared.b, boot="b2"), return_exceptions=True
    )
    assert [isinstance(turn, ClaimedTurn) for turn in turns].count(True) == 1


# --- configs ---


@pytest.fixture
async def three(postgres_url, tmp_path) -> AsyncIterator[dict[str, PostgresStore]]:
    """Nodes: `a1`, `b2` with the same config, `c3` with another."""
    async with AsyncExitStack() as stack:
        stores: dict[str, PostgresStore] = {}
        for boot, digest in (("a1", "old"), ("b2", "old"), ("c3", "new")):
            stores[boot] = PostgresStore(Database(url=postgres_url, pool_size=4), tmp_path / boot)
            node = Node(boot=boot, name=f"node {boot}", platforms=("x",), digest=digest)
            await stack.enter_async_context(stores[boot].own(node))
        yield stores


async def takers(stores: dict[str, PostgresStore], *boots: str) -> list[str]:
    """Those of these nodes that take a thread which waits."""
    found: list[str] = []
    for boot in boots or stores:
        thread = f"t{next(NUMBERS)}"
        at = stores["a1"]
        await take(at, "hi", thread=thread, key=place(thread))
        await at.write(lambda c: c.execute("UPDATE threads SET owner = 'free'"))
        await at.write(lambda c: c.execute("UPDATE procrastinate_jobs SET queue_name = 'x'"))
        waits = await stores[boot].next_job(search(boot).queues)
        if await stores[boot].take(search(boot)) is not None:
            found.append(boot)
        assert (waits is None) == (boot not in found)
        await at.write(lambda c: c.execute("DELETE FROM procrastinate_jobs"))
    return found


NUMBERS = count()


async def test_lanes_are_for_nodes_with_the_config_of_the_first(three):
    assert await takers(three) == ["a1", "b2"]
    [row] = [each for each in await three["a1"].run(node_units.nodes) if not each.takes_lanes]
    assert row.node.boot == "c3"


async def test_what_waits_to_be_told_is_not_for_a_node_with_another_config(three):
    await take(three["a1"], "hi", thread="t", key=place("t"))
    await three["a1"].write(lambda c: c.execute("UPDATE threads SET owner = 'free'"))
    for boot, adopted in (("c3", ()), ("b2", ("t",))):
        healed = await three[boot].heal(boot, ["x"], full=False, all_work=False)
        assert healed.adopted == adopted


async def test_a_message_that_such_a_node_hears_is_left_to_the_others(three):
    await take(three["c3"], "hi", thread="t", key=place("t"))
    [(owner,)] = await rows_of(three["a1"], "SELECT owner FROM threads")
    assert owner == "free"
    assert await three["c3"].take(search("c3")) is None
    work = await three["b2"].take(search("b2"))
    assert work is not None
    assert work.job.thread == "t"


async def test_after_a_reload_all_take_lanes_and_who_comes_with_the_old_one_does_not(
    three, postgres_url, tmp_path
):
    reload = Reload(
        id="r", digest="new", proposer="a1", source="config.toml", changes="", dry=False
    )
    assert await three["a1"].propose_reload(reload, 15) == ""
    for boot in ("b2", "c3"):
        await three[boot].vote("r", boot, "", 15)
    settled = await three["a1"].vote("r", "a1", "", 15)
    assert settled is not None
    assert settled.state == "go"
    assert await takers(three) == ["a1", "b2", "c3"]
    late = PostgresStore(Database(url=postgres_url, pool_size=4), tmp_path / "late")
    async with late.own(Node(boot="d4", platforms=("x",), digest="old")):
        nodes = {**three, "d4": late}
        assert await takers(nodes, "a1", "c3", "d4") == ["a1", "c3"]
        await late.use_config("d4", "new")
        assert await takers(nodes, "d4") == ["d4"]


@pytest.mark.parametrize("dry", [False, True])
async def test_a_reload_that_changes_nothing_changes_no_lane(three, dry):
    reload = Reload(id="r", digest="new", proposer="a1", source="config.toml", changes="", dry=dry)
    await three["a1"].propose_reload(reload, 15)
    await three["b2"].vote("r", "b2", "", 15)
    await three["c3"].vote("r", "c3", "" if dry else "not me", 15)
    await three["a1"].vote("r", "a1", "", 15)
    assert await takers(three) == ["a1", "b2"]


async def test_without_any_other_node_a_config_is_the_config(three):
    for boot in ("a1", "b2"):
        await three[boot].drain(boot)
    assert await takers(three, "c3") == ["c3"]


async def test_nodes_without_platforms_or_a_digest_take_what_they_did(postgres_url, tmp_path):
    kinds = {"a1": (("x",), "old"), "b2": ((), "new"), "c3": (("x",), "")}
    async with AsyncExitStack() as stack:
        stores: dict[str, PostgresStore] = {}
        for boot, (platforms, digest) in kinds.items():
            stores[boot] = PostgresStore(Database(url=postgres_url, pool_size=4), tmp_path / boot)
            node = Node(boot=boot, platforms=platforms, digest=digest)
            await stack.enter_async_context(stores[boot].own(node))
        assert await takers(stores) == ["a1", "b2", "c3"]


async def test_a_job_whose_turn_can_t_be_begun_is_handed_over_and_holds_up_nobody(shared):
    await say(shared, "t")
    await say(shared, "u")
    broken = "UPDATE inbox SET author_groups = '{' WHERE thread = 't'"
    await shared.a.write(lambda connection: connection.execute(broken))
    found = await shared.take("a1")
    assert found is not None
    assert (found.job.thread, found.turn) == ("t", None)
    assert await shared.taken("b2") == "u"
    assert await shared.take("b2") is None
    notice = Notice(thread="t", turn="", text="It could not be begun.", level="error")
    ended = await shared.a.run(turn_units.end_unbegun, "t", "a1", notice)
    assert not ended.again
    running = await rows_of(shared.a, "SELECT thread FROM turns WHERE status = 'running'")
    assert running == [("u",)]
