"""Nodes of a store come, go, and are declared dead."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from psycopg import AsyncConnection

from gateway.app.node_table import node_table
from gateway.errors import LeaseLost, StoreTaken
from gateway.store.nodes import Node, NodeRow
from gateway.store.postgres.database import Database, Patience
from gateway.store.postgres.store import PostgresStore
from gateway.store.rulebook import RecoveryWords
from gateway.store.units import audit, nodes, recovery
from gateway.store.units import losses as loss_units
from gateway.store.units import nodes as node_units
from gateway.store.units.audit import note
from tests.fakes.lost_records import copy_database, restore_database
from tests.fakes.tcp_proxy import TcpProxy
from tests.fakes.tested_store import at
from tests.gateway.store.talk import begin, end, take

WORDS = RecoveryWords(interrupted="it goes on", parked="", reason="")
A, B = (
    Node(boot=boot, name=f"node {boot}", version="1.2", platforms=("x",)) for boot in ("a1", "b2")
)


def store_at(url: str, folder: Path, *, failover: float = 6.0, skew: float = 0.0) -> PostgresStore:
    patience = Patience(silence=0.5, look=0.05) if failover < 6 else Patience()
    database = Database(url=url, pool_size=3, failover=failover, patience=patience)
    return PostgresStore(database, folder, clock=lambda: 1_000_000.0 + skew)


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(postgres_url) as proxy, asyncio.timeout(30):
        yield proxy


async def names_in(store: PostgresStore) -> list[str]:
    rows = await store.run(audit.whole_audit, after=0, since=0.0, until=inf, limit=1000, longest=1)
    return [row.what for row in rows]


async def figures_of(store: PostgresStore) -> Any:
    """Load of the oldest node."""
    return (await store.run(nodes.nodes))[0].figures


async def test_nodes_see_each_other_until_they_leave(postgres_url, tmp_path):
    one = store_at(postgres_url, tmp_path / "a")
    other = store_at(postgres_url, tmp_path / "b", skew=-600.0)
    async with one.own(A):
        async with other.own(B):
            assert [each.node for each in await one.run(node_units.nodes)] == [A, B]
            assert all(
                each.silent < 5 and not each.draining for each in await other.run(node_units.nodes)
            )
            assert await one.dead_nodes("a1") == await other.dead_nodes("b2") == []
            await other.drain("b2")
            assert [each.draining for each in await one.run(node_units.nodes)] == [False, True]
        assert [each.node.boot for each in await one.run(node_units.nodes)] == ["a1"]
    assert await one.run(node_units.nodes) == []


async def test_who_gives_up_while_another_has_the_store_asks_no_more(postgres_url, tmp_path):
    async with await AsyncConnection.connect(postgres_url, autocommit=True) as admin:
        await admin.execute("SELECT pg_advisory_lock(hashtextextended('parley owner', 0))")

        async def asks() -> bool:
            found = await admin.execute(SESSIONS)
            return bool(await found.fetchall())

        owning = asyncio.ensure_future(store_at(postgres_url, tmp_path / "a").own(A).__aenter__())
        async with asyncio.timeout(2):  # it would ask for five seconds
            while not await asks():
                pass
            owning.cancel()
            while await asks():
                pass
        await asyncio.wait([owning])


SESSIONS = """
    SELECT 1 FROM pg_stat_activity WHERE application_name LIKE '% a1'
     AND datname = current_database()
"""


async def test_a_heartbeat_brings_figures_and_the_number_of_nodes(postgres_url, tmp_path):
    one = store_at(postgres_url, tmp_path / "a", failover=0.4)
    other = store_at(postgres_url, tmp_path / "b")
    async with one.own(A), other.own(B), asyncio.timeout(10):
        one.tell_figures(lambda: {"running": 3})
        while one.node_count != 2 or (await figures_of(other)).get("running") != 3:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert one.speaks


async def test_a_node_hears_that_a_newer_version_has_changed_the_store(postgres_url, tmp_path):
    one = store_at(postgres_url, tmp_path / "a", failover=0.4)
    async with one.own(A), asyncio.timeout(10):
        await one.write(lambda c: c.execute("UPDATE store SET version = version + 1"))
        await one.until_outdated()
        await one.write(lambda c: c.execute("UPDATE store SET version = version - 1"))


@pytest.mark.parametrize("noted", [False, True])
async def test_nothing_is_written_by_a_node_of_before_a_restore_not_even_until_its_next_heartbeat(
    postgres_url, tmp_path, noted
):
    """The copy has its row, and another node may have `noted` it."""
    store, copy = store_at(postgres_url, tmp_path / "a", failover=3600.0), tmp_path / "copy"
    other = store_at(postgres_url, tmp_path / "b")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(store.own(A))
        await store.write(lambda c: note(at(c, 1.0), "before"))
        await copy_database(postgres_url, copy)
        await store.write(lambda c: note(at(c, 2.0), "since"))
        await restore_database(postgres_url, copy)
        if noted:
            await stack.enter_async_context(other.own(B))
            assert [loss.cause for loss in await other.run(loss_units.losses)] == ["restored"]
        with pytest.raises(StoreTaken):
            await store.write(lambda c: note(at(c, 3.0), "after"))
        with pytest.raises(StoreTaken):
            await store.write_in_group(lambda c: note(at(c, 3.0), "after"), print)
        with pytest.raises(StoreTaken):
            await store.until_lost()
        written = await names_in(store)
        assert "before" in written
        assert not {"since", "after"} & set(written)


async def test_a_node_that_writes_nothing_hears_of_a_restore_that_another_has_noted(
    postgres_url, tmp_path
):
    store, copy = store_at(postgres_url, tmp_path / "a", failover=0.8), tmp_path / "copy"
    async with store.own(A), asyncio.timeout(10):
        await copy_database(postgres_url, copy)
        await restore_database(postgres_url, copy)
        async with store_at(postgres_url, tmp_path / "b").own(B):
            with pytest.raises(StoreTaken):
                await store.until_lost()


@pytest.mark.chaos
@pytest.mark.parametrize("skew", [600.0, -600.0])
async def test_a_node_that_was_cut_off_is_dead_after_it_has_fallen_silent(
    proxy, postgres_url, tmp_path, skew
):
    """It leaves nothing half done, and its thread goes on elsewhere."""
    cut = store_at(f"{proxy.url}?connect_timeout=2", tmp_path / "a", failover=1.0, skew=skew)
    other = store_at(postgres_url, tmp_path / "b")
    began, go_on = threading.Event(), threading.Event()

    def begins(connection) -> None:
        note(at(connection, 1.0), "a.old")
        connection.fetch("SELECT 1")
        began.set()
        go_on.wait(20)

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(cut.own(A))
        await stack.enter_async_context(other.own(B))
        await take(cut)
        work = await begin(cut, boot="a1")
        writing = asyncio.ensure_future(cut.write(begins))
        await asyncio.to_thread(began.wait, 10)
        proxy.lose()
        spoke = True
        while not (dead := await other.dead_nodes("b2")):
            spoke = cut.speaks
            await asyncio.sleep(0.02)
        assert (dead, spoke) == (["a1"], False)
        assert await other.bury(dead, WORDS) == ["node a1"]
        assert await other.bury(dead, WORDS) == []
        assert [each.node.boot for each in await other.run(node_units.nodes)] == ["b2"]
        proxy.speak()
        go_on.set()
        with pytest.raises(StoreTaken):
            await writing
        with pytest.raises(StoreTaken):
            await cut.until_lost()
        with pytest.raises((StoreTaken, LeaseLost)):
            await end(cut, work)
        assert not cut.speaks
        assert "a.old" not in await names_in(other)
        goes_on = await begin(other, boot="b2")
        assert (goes_on.lease.turn, goes_on.resumed) == (work.lease.turn, True)


@pytest.mark.chaos
async def test_a_node_that_hears_nothing_of_its_death_learns_of_it_with_its_next_heartbeat(
    postgres_url, tmp_path
):
    one = store_at(postgres_url, tmp_path / "a", failover=0.5)
    other = store_at(postgres_url, tmp_path / "b")
    async with one.own(A), other.own(B), asyncio.timeout(10):
        await other.write(lambda c: c.execute("UPDATE nodes SET beat = 0 WHERE boot = 'a1'"))
        while not await other.bury(["a1"], WORDS):
            await other.write(lambda c: c.execute("UPDATE nodes SET beat = 0 WHERE boot = 'a1'"))
        with pytest.raises(StoreTaken):
            await one.until_lost()
        assert not one.speaks


async def test_the_dead_of_an_earlier_run_are_no_others(postgres_url, tmp_path):
    """Requests are dated anew as if nobody had been there."""
    store = store_at(postgres_url, tmp_path / "a")
    async with store.own(A):
        copy = "INSERT INTO nodes SELECT 'dead', name, version, platforms, figures, since, 0, 1"
        await store.write(lambda c: c.execute(f"{copy} FROM nodes"))
        assert await store.dead_nodes("a1") == ["dead"]
        await store.run(recovery.recover, "a1", replace(WORDS, parked="no"))
        assert await store.bury(["dead", "none"], WORDS) == ["node a1"]


@pytest.mark.parametrize(
    ("skew", "said"),
    [
        (42.0, "(its clock is 42 s ahead of the database's)"),
        (-42.0, "(its clock is 42 s behind the database's)"),
        (0.0, ""),
        (0.5, ""),
    ],
)
async def test_a_clock_that_differs_from_the_databases_is_told(postgres_url, tmp_path, skew, said):
    database = Database(url=postgres_url, failover=0.4)
    store = PostgresStore(database, tmp_path, clock=lambda: time.time() + skew)
    async with asyncio.timeout(30), store.own(A):
        while not (rows := await store.run(nodes.nodes))[0].figures.get("clock") and said:  # noqa: ASYNC110 (a row tells nobody)
            await asyncio.sleep(0.02)
        table = node_table(rows)
    assert ("its clock" in table) == bool(said)
    assert said in table


def test_a_node_of_an_earlier_version_says_nothing_of_its_clock():
    row = NodeRow(node=A, since=0.0, silent=0.0, draining=False, figures={"clock": None})
    assert "its clock" not in node_table([row, replace(row, figures={})])
