"""Statements on their way to PostgreSQL, their number and their errors."""

import pytest
from psycopg.errors import UniqueViolation

from benchmarks.gateway.teams import DoNothing
from gateway.gateway import Gateway
from gateway.store.postgres import pipeline
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.pool import connect
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import threads
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.fakes.postgres_wire import EXECUTE, PARSE, SYNC, CountedWire
from tests.gateway.scripted import ScriptedTeams, turn

ADD = "INSERT INTO people (person, name, paired_at) VALUES (:person, 'Ann', 0)"


def once() -> RoundRobinGroupChat:
    return RoundRobinGroupChat([AssistantAgent("solo", DoNothing())], max_turns=1)


async def test_a_turn_is_few_statements_and_fewer_waits_however_long_its_thread(
    postgres_url, tmp_path
):
    sent, commits = [], []
    async with CountedWire(postgres_url) as wire:
        store = PostgresStore(Database(url=wire.url, pool_size=1), tmp_path)
        async with Gateway(store, ScriptedTeams(once)) as gateway:
            thread = (await gateway.client.create_thread()).id
            for _ in range(12):
                before, commits_before = wire.sent.copy(), store.commits
                await turn(gateway, thread, "a question")
                await store.run(
                    threads.thread, thread
                )  # the turn's last commit was answered before
                sent.append(wire.sent - before)
                commits.append(store.commits - commits_before)
    assert min(commits[2:5]) == min(commits[-3:]) <= 4
    # The least of three turns: a node's start or its beat may fall into one.
    first, last = (min(turns, key=lambda each: each[EXECUTE]) for turns in (sent[2:5], sent[-3:]))
    # The message with its turn's beginning is asked of 4 times, its answer and the turn's end twice
    # each, and 3 reads once. Of the statements, 4 make each transaction, and 3 are the reads.
    assert first[EXECUTE] == last[EXECUTE] <= 4 * 3 + 15 + 3
    assert first[SYNC] == last[SYNC] <= 4 + 2 + 2 + 3
    assert last[PARSE] == 0


@pytest.fixture
def connection(postgres_url):
    raw = connect(Database(url=postgres_url))
    yield PostgresConnection(raw)
    raw.close()


def test_statements_are_sent_when_one_of_them_is_asked(connection):
    connection.execute(ADD, {"person": "a"})
    connection.many(ADD, [{"person": "b"}, {"person": "c"}])
    assert connection.change("UPDATE people SET name = 'Bob' WHERE person <> 'a'") == 2
    rows = connection.fetch("SELECT person, name FROM people ORDER BY 1")
    assert [(row["person"], row[1]) for row in rows] == [("a", "Ann"), ("b", "Bob"), ("c", "Bob")]


def test_the_first_error_is_raised_where_something_is_asked_next(connection):
    connection.execute("BEGIN")
    for person in "aab":
        connection.execute(ADD, {"person": person})
    connection.execute("SELECT no_such_function()")
    with pytest.raises(UniqueViolation):
        connection.fetch("SELECT 1 AS one")
    connection.execute("ROLLBACK")
    assert list(connection.fetch("SELECT 1 AS one")[0]) == [1]


def test_what_failed_with_others_is_prepared_the_next_time(connection):
    connection.execute(ADD, {"person": "a"})
    connection.execute(ADD, {"person": "a"})
    with pytest.raises(UniqueViolation):
        connection.fetch("SELECT 2 AS two")
    assert list(connection.fetch("SELECT 2 AS two")[0]) == [2]


def test_a_connection_keeps_the_statements_used_last(connection, monkeypatch):
    monkeypatch.setattr(pipeline, "MOST_PREPARED", 3)
    for _ in range(2):
        for n in range(5):
            assert list(connection.fetch(f"SELECT {n} AS n")[0]) == [n]
    (row,) = connection.fetch("SELECT COUNT(*) AS n FROM pg_prepared_statements")
    assert row["n"] == 3


def test_much_is_sent_before_all_of_it_is_there(connection, monkeypatch):
    monkeypatch.setattr(pipeline, "MOST_BYTES", 100_000)
    connection.execute("CREATE TEMP TABLE files (data bytea)")
    connection.many("INSERT INTO files VALUES (:data)", [{"data": bytes(50_000)}] * 300)
    (row,) = connection.fetch("SELECT SUM(LENGTH(data)) AS bytes FROM files")
    assert row["bytes"] == 300 * 50_000
