"""The store on PostgreSQL through lost connections and timeouts.

test_membership.py is about the death of nodes, tests/chaos/test_postgres.py about
a server that ends.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from math import inf
from time import monotonic

import psycopg
import pytest

from gateway.errors import GatewayClosed, NotFound, StoreInUse, StoreUnreachable
from gateway.store.postgres.database import Database, Patience
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import audit, nodes
from gateway.store.units.audit import note
from tests.fakes.tcp_proxy import TcpProxy
from tests.fakes.tested_store import at

pytestmark = pytest.mark.chaos

SHORT = Patience(
    unit=10.0,
    connection=0.5,
    statement=0.4,
    lock=0.2,
    idle=0.4,
    silence=0.6,
    look=0.05,
    owner=0.3,
    end=0.3,
)
FAILS = "DO $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '40001'; END $$"


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(postgres_url) as proxy, asyncio.timeout(30):
        yield proxy


@pytest.fixture
def store(proxy, tmp_path):
    url = f"{proxy.url}?connect_timeout=2"
    return PostgresStore(Database(url=url, pool_size=4, patience=SHORT), tmp_path / "a")


@pytest.fixture
def other(postgres_url, tmp_path):
    """The store for another process, in a folder of its own."""
    return PostgresStore(Database(url=postgres_url, pool_size=2, patience=SHORT), tmp_path / "b")


class Noted:
    """Units that note a name, and how often they were run."""

    def __init__(self, *names: str) -> None:
        self.names = names or ("a.b",)
        self.runs = 0

    def __call__(self, connection) -> int:
        self.runs += 1
        for name in self.names:
            note(at(connection, 1.0), name)
        return self.runs


async def names_in(store) -> list[str]:
    rows = await store.run(audit.whole_audit, after=0, since=0.0, until=inf, limit=1000, longest=1)
    return [row.what for row in rows]


async def ask_server(url: str, query: str, *parameters: object) -> list:
    """Rows of a query, of somebody who is no store."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        return await (await connection.execute(query.encode(), parameters)).fetchall()


async def end_sessions(url: str, having: str = "true") -> int:
    """End the sessions of all stores of this database."""
    query = f"""
        SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity AS a
        WHERE datname = current_database() AND application_name LIKE 'parley %%' AND {having}
    """
    return len(await ask_server(url, query))


OF_NODE = "EXISTS (SELECT FROM pg_locks WHERE pid = a.pid AND locktype = 'advisory')"


async def warm(store) -> None:
    """Let each statement be prepared."""
    for _ in range(4):
        await store.write(lambda connection: connection.fetch("SELECT 1"))


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_connection_lost_in_a_commit_is_asked_for_its_outcome(store, proxy, cut):
    unit, told = Noted(), list[int]()
    async with store.own():
        await warm(store)
        proxy.cut = cut
        result = await store.write(unit, told.append)
        assert proxy.was_cut.is_set()
        assert await names_in(store) == ["a.b"]
    assert result == unit.runs == (1 if cut == "after" else 2)
    assert told == [result]


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_connection_lost_in_the_commit_of_a_group_leaves_order_and_number(
    store, proxy, cut
):
    told = list[str]()
    async with store.own():
        await warm(store)
        proxy.cut = cut
        await asyncio.gather(
            *(store.write_in_group(named(f"a.{n}"), told.append) for n in range(6))
        )
        assert proxy.was_cut.is_set()
        assert await names_in(store) == told == [f"a.{n}" for n in range(6)]


def named(name: str):
    def unit(connection) -> str:
        note(at(connection, 1.0), name)
        return name

    return unit


SLOW_COMMIT = """
    CREATE FUNCTION wait_late() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON audit DEFERRABLE INITIALLY DEFERRED
     FOR EACH ROW EXECUTE FUNCTION wait_late();
    -- It is found before the server's own, which answers at once.
    CREATE FUNCTION public.pg_xact_status(xid8) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
        WHILE pg_catalog.pg_xact_status($1) = 'in progress' LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN pg_catalog.pg_xact_status($1);
    END $$;
"""


UNTIL_IT_RUNS = """
    DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE state = 'active'
     AND application_name LIKE 'parley %' AND query LIKE '%{}%')
    LOOP PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$
"""


async def test_a_commit_that_ends_while_its_outcome_is_asked_for_is_not_made_again(
    proxy, postgres_url, tmp_path
):
    url = f"{proxy.url}?options=-csearch_path%3Dpublic,pg_catalog"
    store, unit = PostgresStore(Database(url=url), tmp_path), Noted()
    async with store.own():
        await warm(store)
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as other:
            await other.execute(SLOW_COMMIT.encode())
            await other.execute("SELECT pg_advisory_lock(77)")
            writing = asyncio.ensure_future(store.write(unit))
            await other.execute(UNTIL_IT_RUNS.format("COMMIT").encode())
            proxy.reset()
            await other.execute(UNTIL_IT_RUNS.format("pg_xact_status").encode())
            await other.execute("SELECT pg_advisory_unlock(77)")
        assert await writing == 1
        assert await names_in(store) == ["a.b"]


async def test_an_outcome_that_nobody_knows_is_an_error_and_is_not_guessed(proxy, tmp_path):
    hasty = Patience(unit=0.3, connection=0.5, idle=60.0, look=0.05)
    store = PostgresStore(Database(url=proxy.url, patience=hasty), tmp_path)
    told = list[str]()
    async with store.own():
        proxy.cut = "held"  # the transaction stays open
        results = await asyncio.gather(
            *(store.write_in_group(named(f"a.{n}"), told.append) for n in range(3)),
            return_exceptions=True,
        )
        assert proxy.was_cut.is_set()
        assert "what became of it" in str(results[0])
        late = [each for each in results if isinstance(each, BaseException)]
        assert {type(each) for each in late} == {StoreUnreachable}
        assert told == await names_in(store) == [each for each in results if each not in late]


async def test_a_whole_unit_is_run_again_after_a_serialization_failure(store):
    unit = Noted()

    def fails_once(connection) -> int:
        runs = unit(connection)
        if runs == 1:
            connection.execute(FAILS)
        return runs

    async with store.own():
        assert await store.write(fails_once) == 2
        assert await names_in(store) == ["a.b"]


async def test_a_whole_unit_is_run_again_if_another_has_added_its_row(store):
    met = threading.Barrier(2)
    runs = list[str]()

    def adds(name: str):
        def unit(connection) -> str:
            runs.append(name)
            query = "SELECT value FROM marks WHERE platform = 'x' AND name = 'y'"
            if rows := connection.fetch(query):
                return rows[0]["value"]
            met.wait(5)
            connection.execute(
                "INSERT INTO marks (platform, name, value) VALUES ('x', 'y', :value)",
                {"value": name},
            )
            return name

        return unit

    async with store.own():
        first, second = await asyncio.gather(store.write(adds("a")), store.write(adds("b")))
    assert first == second
    assert len(runs) == 3


async def test_a_statement_that_takes_too_long_is_ended_and_its_unit_run_again(store):
    unit = Noted()

    def slow_once(connection) -> int:
        if unit(connection) == 1:
            connection.fetch("SELECT 1 FROM pg_sleep(20)")
        return unit.runs

    async with store.own():
        assert await store.write(slow_once) == 2
        assert await names_in(store) == ["a.b"]


async def test_a_transaction_that_stands_still_loses_its_locks_and_is_run_again(
    postgres_url, tmp_path
):
    """As that of a process which is frozen."""
    patience = Patience(idle=0.4)
    store = PostgresStore(Database(url=postgres_url, patience=patience), tmp_path)
    began, go_on = threading.Event(), threading.Event()
    runs = list[int]()

    def stands(connection) -> int:
        runs.append(1)
        connection.lock("thread")
        connection.fetch("SELECT 1")
        began.set()
        go_on.wait(10)
        connection.fetch("SELECT 1")
        note(at(connection, 1.0), "a.stood")
        return len(runs)

    def waits(connection) -> None:
        connection.lock("thread")
        connection.fetch("SELECT 1")
        note(at(connection, 1.0), "a.waited")

    async with store.own():
        standing = asyncio.ensure_future(store.write(stands))
        await asyncio.to_thread(began.wait, 10)
        await store.write(waits)
        go_on.set()
        assert await standing == 2
        assert await names_in(store) == ["a.waited", "a.stood"]


async def test_a_unit_waits_for_a_connection_no_longer_than_a_deadline(postgres_url, tmp_path):
    hasty = Patience(unit=0.2)
    store = PostgresStore(Database(url=postgres_url, pool_size=1, patience=hasty), tmp_path)
    unit = Noted()
    async with store.own():
        slow = store.write(lambda connection: len(connection.fetch("SELECT 1 FROM pg_sleep(0.5)")))
        done, late = await asyncio.gather(slow, store.write(unit), return_exceptions=True)
        assert done == 1
        assert isinstance(late, StoreUnreachable)
        assert "too busy" in str(late)
        assert unit.runs == 0
        assert await store.write(Noted()) == 1


async def test_sessions_that_the_server_ends_are_made_anew(store, postgres_url):
    async with store.own():
        await warm(store)
        assert await end_sessions(postgres_url) >= 2
        began = monotonic()
        await asyncio.gather(*(store.write(Noted()) for _ in range(8)))
        assert monotonic() - began < 5
        assert await names_in(store) == ["a.b"] * 8


async def test_a_database_that_falls_silent_is_noticed_and_used_as_soon_as_it_speaks(store, proxy):
    async with store.own():
        await asyncio.gather(*(store.write(lambda c: len(c.fetch("SELECT 1"))) for _ in range(8)))
        proxy.lose()
        waiting = asyncio.gather(*(store.write(Noted()) for _ in range(8)))
        while store.unreachable_since is None:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.01)
        proxy.speak()
        spoke = monotonic()
        await waiting
        assert monotonic() - spoke < 8  # those that were connecting have five seconds
        assert await names_in(store) == ["a.b"] * 8
        while store.unreachable_since is not None:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.01)


async def test_a_unit_that_fails_while_the_database_is_silent_ends_with_its_own_error(store, proxy):
    begun, go_on = threading.Event(), threading.Event()

    def fails(connection) -> None:
        connection.fetch("SELECT 1")
        begun.set()
        go_on.wait(10)
        note(at(connection, 1.0), "a.b")
        raise NotFound("undone")

    async with store.own():
        failing = asyncio.ensure_future(store.write(fails))
        await asyncio.to_thread(begun.wait, 10)
        proxy.silence()
        go_on.set()
        with pytest.raises(NotFound):
            await failing
        proxy.speak()
        assert await names_in(store) == []


@pytest.mark.chaos
async def test_a_store_is_closed_within_seconds_though_its_database_is_silent(store, proxy):
    before = {thread for thread in threading.enumerate() if not thread.name.startswith("asyncio")}
    async with store.own():
        await warm(store)
        proxy.silence()
        waiting = [asyncio.ensure_future(store.write(Noted())) for _ in range(6)]
        reading = asyncio.ensure_future(names_in(store))
        await asyncio.sleep(0)
        began = monotonic()
    assert monotonic() - began < 4
    results = await asyncio.gather(*waiting, reading, return_exceptions=True)
    assert {type(result) for result in results} <= {StoreUnreachable, GatewayClosed}
    for thread in set(threading.enumerate()) - before:
        if not thread.name.startswith("asyncio"):
            await asyncio.to_thread(thread.join, 5)  # it may be connecting
            assert not thread.is_alive()


@pytest.mark.chaos
async def test_who_does_not_own_a_silent_database_waits_no_longer_than_a_deadline(store, proxy):
    async with store.own():
        pass
    assert await names_in(store) == []
    proxy.silence()
    with pytest.raises(StoreUnreachable):
        await names_in(store)


@pytest.mark.chaos
async def test_a_connection_that_a_unit_has_lost_does_not_end_the_watch_over_others(store, proxy):
    ended, go_on = threading.Event(), threading.Event()

    def loses_once(connection) -> None:
        if not ended.is_set():
            connection.pipeline.raw.close()
            ended.set()
            go_on.wait(10)

    async with store.own():
        losing = asyncio.ensure_future(store.write(loses_once))
        await asyncio.to_thread(ended.wait, 10)
        await asyncio.sleep(2 * SHORT.silence)  # the watch looks at it
        proxy.silence()
        writing = asyncio.ensure_future(store.write(Noted()))
        await asyncio.sleep(2 * SHORT.silence)
        proxy.reset()
        proxy.speak()
        assert await writing >= 1
        go_on.set()
        await losing


async def test_who_wants_a_store_alone_is_told_of_a_node(store, other):
    async with store.own():
        with pytest.raises(StoreInUse, match=r"process \d+ on "):
            async with other.own(alone=True):
                pass
    async with other.own(alone=True):
        with pytest.raises(StoreInUse, match=r"process \d+ on "):
            async with store.own():
                pass


async def test_a_node_that_lost_its_session_is_not_taken_for_dead(store, other, postgres_url):
    async with store.own():
        assert await end_sessions(postgres_url, OF_NODE) == 1
        with pytest.raises(StoreInUse):
            async with other.own(alone=True):
                pass
        assert await store.write(Noted()) == 1
        held = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"
        while not await ask_server(postgres_url, held):
            pass
        assert len(await store.run(nodes.nodes)) == 1


async def test_the_server_ends_sessions_of_machines_that_are_gone(store):
    def settings(connection) -> list:
        query = "SELECT setting FROM pg_settings WHERE name LIKE 'tcp_%' ORDER BY name"
        return [int(row["setting"]) for row in connection.fetch(query)]

    async with store.own():
        count, idle, interval, _ = await store.read(settings)
    assert 0 < idle + count * interval <= 30


def test_a_start_that_waits_for_another_one_is_ended_at_once(postgres_url, tmp_path):
    async def start() -> None:
        async with asyncio.timeout(0.5), PostgresStore(Database(url=postgres_url), tmp_path).own():
            raise AssertionError("it was to wait")

    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended('parley upgrade', 0))")
        began = monotonic()
        with pytest.raises(TimeoutError):
            asyncio.run(start())  # which waits for its threads
        assert monotonic() - began < 5
