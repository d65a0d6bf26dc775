"""The store on PostgreSQL: values, units side by side, and its end."""

import asyncio
import threading
from contextlib import suppress
from math import inf

import pytest
from psycopg.errors import SerializationFailure, UndefinedColumn

from gateway.conversation import ConversationKey
from gateway.errors import GatewayClosed, NotFound, StoreError
from gateway.store.decisions import NewThread
from gateway.store.postgres.database import Database, Patience
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import audit, counts, search_index
from gateway.store.units import rows as row_units
from gateway.store.units import threads as thread_units
from gateway.store.units.audit import note
from gateway.store.units.rows import create_thread
from tests.fakes.tested_store import at

KEY = ConversationKey.local("t")
NEW = NewThread(id="t", team="demo", definition="d", participants=("a",), mode="queue")


@pytest.fixture
def store(postgres_url, tmp_path):
    return PostgresStore(Database(url=postgres_url, pool_size=4), tmp_path)


async def test_values_come_back_as_units_expect_them(store):
    def unit(connection):
        query = (
            "SELECT SUM(n) AS whole, AVG(n) AS part, :text AS text, :flag AS flag, :data AS data"
        )
        (row,) = connection.fetch(
            f"{query} FROM (SELECT 1 AS n UNION ALL SELECT 2) AS t",
            {"text": "a\0b", "flag": True, "data": b"\0\xff"},
        )
        return list(row), row["whole"], row[:2], [*row.keys()]

    async with store.own():
        values, whole, two, names = await store.read(unit)
    assert values == [3, 1.5, "a\u2400b", True, b"\0\xff"]
    assert type(whole) is int
    assert two == (3, 1.5)
    assert names == ["whole", "part", "text", "flag", "data"]


async def test_a_text_with_a_nul_character_is_stored_and_searched(store):
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=KEY, title="nul\0here")
        while await store.run(search_index.index_words):
            pass
        (found,) = await store.run(thread_units.threads, search="here")
    assert found.title == "nul\u2400here"


async def test_texts_are_compared_by_code_points(store):
    async with store.own():
        rows = await store.read(
            lambda connection: connection.fetch(
                "SELECT key FROM threads WHERE key > :low ORDER BY key", {"low": "Z"}
            )
        )
        assert rows == ()
        for n, name in enumerate("aBäZ"):
            await store.run(
                row_units.create_thread,
                NewThread(id=name, team="x", definition="", participants=(), mode="queue"),
                key=ConversationKey(platform="x", workspace="w", channel=name, root=str(n)),
            )
        rows = await store.read(
            lambda connection: connection.fetch("SELECT id FROM threads ORDER BY id")
        )
    assert [row["id"] for row in rows] == sorted("aBäZ")


async def test_a_unit_that_fails_leaves_nothing_and_spoils_no_other(store):
    def fails(connection):
        create_thread(at(connection, 1.0), NEW, key=KEY)
        raise NotFound("undone")

    async with store.own():
        results = await asyncio.gather(
            store.write_in_group(fails, lambda result: None),
            *(
                store.write_in_group(lambda c, n=n: note(at(c, 1.0), f"a.{n}"), print)
                for n in range(5)
            ),
            return_exceptions=True,
        )
        rows = await store.run(
            audit.whole_audit, after=0, since=0.0, until=inf, limit=10, longest=1
        )
        assert await store.run(thread_units.threads) == []
    assert isinstance(results[0], NotFound)
    assert [row.what for row in rows] == [f"a.{n}" for n in range(5)]


async def test_positions_of_the_audit_become_visible_in_their_order(store):
    """A reader that follows the positions misses no row."""
    rounds, writers = 25, 4
    seen: list[int] = []

    async def write(n: int) -> None:
        for _ in range(rounds):
            await store.run(audit.note, f"writer.w{n}")

    async def follow() -> None:
        while len(seen) < rounds * writers:
            after = seen[-1] if seen else 0
            found = await store.run(
                audit.whole_audit, after=after, since=0.0, until=inf, limit=7, longest=1
            )
            seen.extend(row.position for row in found)

    async with store.own(), asyncio.timeout(20):
        await asyncio.gather(follow(), *map(write, range(writers)))
    assert len(seen) == rounds * writers


async def test_words_are_found_whatever_is_written_while_they_are_indexed(store):
    """An index that runs beside writers forgets no text of theirs."""
    threads, texts = [f"t{n}" for n in range(6)], 12

    async def write(thread: str) -> None:
        for n in range(texts):
            await store.run(thread_units.rename_thread, thread, f"{thread}word{n}")

    async def index(done: asyncio.Event) -> None:
        while not done.is_set():
            await store.run(search_index.index_words)

    async with store.own(), asyncio.timeout(30):
        for thread in threads:
            new = NewThread(id=thread, team="x", definition="", participants=(), mode="queue")
            await store.run(row_units.create_thread, new, key=ConversationKey.local(thread))
        done = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(index(done))
            await asyncio.gather(*map(write, threads))
            done.set()
        while await store.run(search_index.index_words):
            pass
        for thread in threads:
            (found,) = await store.run(thread_units.threads, search=f"{thread}word{texts - 1}")
            assert found.id == thread
        assert await store.run(thread_units.threads, search="t1word3") == []


@pytest.mark.chaos
async def test_two_units_that_lock_in_opposite_order_are_both_done(store):
    met = [asyncio.Event(), asyncio.Event()]
    loop = asyncio.get_running_loop()
    runs: list[str] = []

    def crosses(mine: int, first: str, second: str):
        def unit(connection):
            runs.append(first)
            connection.lock(first)
            connection.fetch("SELECT 1")  # the lock is taken once something is returned
            loop.call_soon_threadsafe(met[mine].set)
            if len(runs) <= 2:
                asyncio.run_coroutine_threadsafe(met[1 - mine].wait(), loop).result(10)
            connection.lock(second)
            note(at(connection, 1.0), f"locked.{first}")

        return unit

    async with store.own(), asyncio.timeout(20):
        await asyncio.gather(store.write(crosses(0, "a", "b")), store.write(crosses(1, "b", "a")))
        rows = await store.run(
            audit.whole_audit, after=0, since=0.0, until=inf, limit=10, longest=1
        )
    assert sorted(row.what for row in rows) == ["locked.a", "locked.b"]
    assert len(runs) == 3


async def test_nothing_is_kept_of_a_unit_that_goes_on_after_an_error(store):
    def unit(connection):
        note(at(connection, 1.0), "a.b")
        with suppress(UndefinedColumn):
            connection.fetch("SELECT no_such_column")

    async with store.own():
        with pytest.raises(StoreError):
            await store.write(unit)
        await store.write(lambda connection: note(at(connection, 2.0), "c.d"))
        assert [row.what for row in await audit_of(store)] == ["c.d"]


async def test_a_caller_that_leaves_abandons_only_its_future(store):
    told: list[str] = []
    async with store.own():
        leaving = asyncio.ensure_future(
            store.write(lambda connection: note(at(connection, 1.0), "a.b") or "done", told.append)
        )
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
    assert told == ["done"]
    assert [row.what for row in await audit_of(store)] == ["a.b"]


async def test_a_write_comes_behind_an_earlier_one_whose_caller_has_left(store):
    met, runs = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def first(connection):
        runs.append("first")
        if len(runs) == 1:
            loop.call_soon_threadsafe(met.set)
            raise SerializationFailure
        note(at(connection, 1.0), "a.first")

    async with store.own(), asyncio.timeout(20):
        leaving = asyncio.ensure_future(store.write(first))
        await met.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await store.run(audit.note, "a.second")
        assert [row.what for row in await audit_of(store)] == ["a.first", "a.second"]


async def audit_of(store):
    return await store.run(audit.whole_audit, after=0, since=0.0, until=inf, limit=10, longest=1)


async def test_a_closed_store_takes_nothing(store):
    async with store.own():
        pass
    with pytest.raises(GatewayClosed):
        await store.write(lambda connection: None)


async def test_units_that_wait_for_a_group_end_with_the_store(postgres_url, tmp_path):
    store = PostgresStore(Database(url=postgres_url, patience=Patience(end=0.05)), tmp_path)
    begun, ends = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def lasts(connection):
        loop.call_soon_threadsafe(begun.set)
        ends.wait(10)
        connection.fetch("SELECT 1")

    async with asyncio.timeout(10):
        async with store.own():
            waiting = [asyncio.ensure_future(store.write_in_group(lasts, print))]
            await begun.wait()
            waiting += [
                asyncio.ensure_future(
                    store.write_in_group(lambda c: note(at(c, 1.0), "a.b"), print)
                )
                for _ in range(2)
            ]
            await asyncio.sleep(0)
        ends.set()
        results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [GatewayClosed] * 3


async def test_a_store_that_was_never_made_is_read_as_empty(postgres_url, tmp_path, new_database):
    empty = PostgresStore(Database(url=new_database("empty")), tmp_path)
    assert await empty.run(thread_units.threads) == []
    assert (await empty.run(counts.counts)).threads == {}
