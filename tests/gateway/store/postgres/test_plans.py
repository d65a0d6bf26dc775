"""Work looks at few pages of PostgreSQL, however long the history is."""

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from benchmarks.gateway.teams import DoNothing
from gateway.content.attachments import MISSING
from gateway.events import MessageFinished, dump_event
from gateway.gateway import Gateway
from gateway.rates import RateLimit
from gateway.store.decisions import UsageQuery
from gateway.store.jobs import JobSearch, LaneJob
from gateway.store.nodes import Node
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.shares import Amounts, ShareQuery
from gateway.store.units import (
    counts,
    deletion,
    events,
    heard,
    lanes,
    nodes,
    outbox,
    rates,
    search_index,
    shares,
    usage,
)
from gateway.store.units import threads as thread_units
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.gateway.scripted import ScriptedTeams, turn

Work = Callable[[PostgresStore], Awaitable[Any]]

HISTORY = (
    "INSERT INTO threads (id, key, team, definition, created_at, updated_at, participants)"
    " SELECT 't' || i, 'x/W/C/' || i || '/', 'demo', '1', i, i, '[\"a\"]'"
    " FROM generate_series(1, :threads) AS i",
    "INSERT INTO turns (id, thread, n, status, author, destination, started_at)"
    " SELECT 'u' || i, 't' || (i % :threads + 1), i, 'done', 'p' || i / :threads % 3, '', i"
    " FROM generate_series(1, :messages) AS i",
    "INSERT INTO inbox (conversation, thread, turn, kind, outcome, author, author_name, text,"
    " message_id, order_key, received_at, taken_at) SELECT 'x/W/C/' || i % :threads + 1 || '/',"
    " 't' || (i % :threads + 1), 'u' || i, 'message', 'turn', 'p' || i / :threads % 3, 'Ann',"
    " 'word' || i, 'm' || i, lpad(i::text, 9, '0'), i, i FROM generate_series(1, :messages) AS i",
    "INSERT INTO dedupe (key, inbox) SELECT 'x/' || id, id FROM inbox",
    "INSERT INTO events (thread, seq, turn, kind, body) SELECT 't' || (i % :threads + 1), i,"
    " 'u' || i, 'message_finished', :body FROM generate_series(1, :messages) AS i",
    "INSERT INTO tool_calls (key, thread, turn, agent, tool, arguments_hash, status, started_at,"
    " finished_at) SELECT 'c' || i, 't' || (i % :threads + 1), 'u' || i, '[]', 'tool', '',"
    " 'finished', i, i FROM generate_series(1, :messages) AS i",
    "INSERT INTO usage SELECT 't' || (i % :threads + 1), 'u' || i, 'm', 'p1', 'demo', 'x/W', 1, 1,"
    " 0.1, 1, i FROM generate_series(1, :messages) AS i",
    "INSERT INTO outbox (key, thread, place, item, n, seq, status, first_at, at)"
    " SELECT 'k' || i, 't' || (i % :threads + 1), '', '', 0, i, 'delivered', i, i"
    " FROM generate_series(1, :messages) AS i",
    "UPDATE threads SET last_seq = :messages",
)
LANES = (
    "INSERT INTO threads (id, key, team, definition, created_at, updated_at, owner, last_seq)"
    " SELECT 't' || i, 'x/W/C/' || i || '/', 'demo', '1', i, i, 'a1', 5"
    " FROM generate_series(1, :threads) AS i",
    "INSERT INTO deliveries (thread, told) SELECT id, last_seq FROM threads",
    "INSERT INTO turns (id, thread, n, status, author, destination, started_at)"
    " SELECT 'u' || i, 't' || i, 1, 'done', 'p', '', i FROM generate_series(1, :threads) AS i",
    "INSERT INTO inbox (conversation, thread, kind, outcome, author, author_name, text,"
    " received_at) SELECT key, id, 'message', 'queued', 'q' || number, '', '', 1 FROM threads",
    "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args,"
    " scheduled_at) SELECT 'y', 'parley.thread', id, id, '{\"person\": \"p\"}',"
    " now() + interval '1 hour' FROM threads",
)
"""Threads that were told everything, and wait for nodes of another platform."""
NODE = Node(boot="a1", name="node a1", platforms=("x",))
SEARCH = JobSearch(boot="a1", queues=(), words=MISSING, quiet=0.0, group_limits=(("team", 1),))
NODE_WORK: dict[str, Work] = {
    "a person's next job": lambda store: store.write(
        lambda connection: connection.hasten(person="nobody")
    ),
    "a job": lambda store: store.defer(LaneJob(thread="t1", person="p")),
    "a lease": lambda store: store.hold("reminders", "a1"),
    "turns of others": lambda store: store.run(lanes.running_elsewhere, "a1"),
    "dead nodes": lambda store: store.dead_nodes("a1"),
    "nodes": lambda store: store.run(nodes.nodes),
    "a rate": lambda store: store.run(
        rates.draw_tokens, RateLimit(name="r", burst=9, per_minute=60), 1
    ),
    "a share": lambda store: store.run(shares.draw_shares, "a1", [SHARE]),
    "no work": lambda store: store.take(SEARCH),
    "a reload": lambda store: store.reload_state(),
}
SHARE = ShareQuery(
    window="day",
    usage=UsageQuery(scope=None, name="", since=0.0),
    held=Amounts(),
    wanted=Amounts(tokens=1),
    tokens=100,
    cost=None,
    turns=None,
)
PAGES = """
    SELECT SUM(heap_blks_read + heap_blks_hit + COALESCE(idx_blks_read + idx_blks_hit, 0)
     + COALESCE(toast_blks_read + toast_blks_hit, 0))::bigint FROM pg_statio_user_tables
"""
WORK: dict[str, Work] = {
    "authors and tools": lambda store: store.run(heard.context, "t1"),
    "threads": lambda store: store.run(thread_units.threads, limit=5),
    "threads of a platform": lambda store: store.run(thread_units.threads, platform="x", limit=5),
    "figures": lambda store: store.run(counts.counts),
    "the end of a history": lambda store: store.run(events.events, "t1", after=1_990, limit=5),
    "delivery": lambda store: store.run(outbox.mark_delivered, "t1", 1),
    "usage of the last hour": lambda store: store.run(usage.spent, None, "", 1_999),
    "what may expire": lambda store: store.run(deletion.expire, -1),
    "an index of words": lambda store: store.run(search_index.index_words),
}


async def pages_of(store: PostgresStore, work: Callable[[], Awaitable[Any]]) -> int:
    """Pages that the store's one connection has looked at for this."""
    before = await _pages(store)
    await work()
    return await _pages(store) - before


async def least_pages(store: PostgresStore, works: dict[str, Work]) -> dict[str, int]:
    """The least pages that each reads.

    The first time catalogs are read, too, and a node's beat may come between.
    """
    passes = [
        {name: await pages_of(store, lambda work=work: work(store)) for name, work in works.items()}
        for _ in range(3)
    ]
    return {name: min(each[name] for each in passes) for name in works}


async def _pages(store: PostgresStore) -> int:
    await store.write(lambda connection: connection.fetch("SELECT pg_stat_force_next_flush()"))
    return await store.read(lambda connection: connection.fetch(PAGES)[0][0])


async def read_after(url: str, folder: Any, messages: int) -> dict[str, int]:
    """Pages that each work has looked at after so many messages."""
    store = PostgresStore(Database(url=url, pool_size=1), folder)
    event = MessageFinished(thread="t1", agent="a", message="m", text="an answer")
    size = {"messages": messages, "threads": 10, "body": dump_event(event)}
    teams = ScriptedTeams(
        lambda: RoundRobinGroupChat([AssistantAgent("a", DoNothing())], max_turns=1)
    )
    async with Gateway(store, teams) as gateway:
        for statement in HISTORY:
            await store.write(lambda connection, said=statement: connection.execute(said, size))
        while await store.run(search_index.index_words):
            pass
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("VACUUM ANALYZE")
        a_turn = {"a turn": lambda _: turn(gateway, "t1", "question")}
        return await least_pages(store, a_turn | WORK)


@pytest.mark.chaos
async def test_work_looks_at_as_few_pages_after_2000_messages_as_after_200(new_database, tmp_path):
    few = await read_after(new_database("few"), tmp_path / "few", 200)
    many = await read_after(new_database("many"), tmp_path / "many", 2_000)
    grown = {name: (few[name], n) for name, n in many.items() if n > 1.5 * few[name] + 10}
    assert grown == {}


async def pages_of_a_node(url: str, folder: Any, threads: int) -> dict[str, int]:
    """Pages that a node's work has looked at beside so many threads."""
    store = PostgresStore(Database(url=url, pool_size=1), folder)
    async with store.own(NODE):
        for statement in LANES:
            await store.write(
                lambda connection, said=statement: connection.execute(said, {"threads": threads})
            )
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("VACUUM ANALYZE")
        return await least_pages(store, NODE_WORK)


@pytest.mark.chaos
async def test_a_node_looks_at_as_few_pages_beside_1000_threads_as_beside_100(
    new_database, tmp_path
):
    few = await pages_of_a_node(new_database("few"), tmp_path / "few", 100)
    many = await pages_of_a_node(new_database("many"), tmp_path / "many", 1_000)
    grown = {name: (few[name], n) for name, n in many.items() if n > 1.5 * few[name] + 10}
    assert grown == {}
