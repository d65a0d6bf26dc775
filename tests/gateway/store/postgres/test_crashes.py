"""A crash of the server right behind the end of a transaction.

Its log is written some seconds later unless a transaction waits for that.
"""

import asyncio
from dataclasses import replace

import pytest

from gateway.client import Answer
from gateway.content.attachments import MISSING
from gateway.rates import RateLimit
from gateway.store.decisions import RequestAnswer
from gateway.store.jobs import JobSearch
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.records import CallRow
from gateway.store.turn_records import TurnUpdate
from gateway.store.units import outbox, rates, search_index
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import approval, begun, end, take
from tests.gateway.store.units.test_outbox import PART

pytestmark = pytest.mark.chaos

CALL = CallRow(
    key="c", agent=("team", "solo"), tool="send", arguments_hash="hash", status="started"
)
SEARCH = JobSearch(boot="boot", queues=("*",), words=MISSING, quiet=0.0, group_limits=())
LIMIT = RateLimit(name="posts", per_minute=60, burst=5)


async def accepts(store):
    await take(store)
    return "SELECT outcome FROM inbox", "queued"


async def begins(store):
    await begun(store)
    return "SELECT status FROM turns", "running"


async def starts_a_tool(store):
    work = await begun(store)
    await store.record(work.lease, TurnUpdate(calls=(CALL,)))
    return "SELECT status FROM tool_calls", "started"


async def finishes_a_tool(store):
    work = await begun(store)
    await store.record(work.lease, TurnUpdate(calls=(CALL,)))
    await store.record(work.lease, TurnUpdate(calls=(replace(CALL, status="finished"),)))
    return "SELECT status FROM tool_calls", "finished"


async def decides(store):
    work = await begun(store)
    await end(store, work, "waiting", requests=(approval(work),))
    answer = RequestAnswer(request="r1", answer=Answer(kind="approve"), outcome="")
    await take(store, "yes", answer, kind="answer")
    return "SELECT state FROM requests", "answered"


async def ends(store):
    await end(store, await begun(store))
    return "SELECT status FROM turns", "done"


async def begins_from_a_job(store):
    await take(store)
    assert await store.take(SEARCH)
    return "SELECT status FROM turns", "running"


async def attempts(store):
    await take(store)
    await store.run(outbox.put_part, replace(PART, status="attempting"))
    return "SELECT status FROM outbox", "attempting"


async def delivers(store):
    await attempts(store)
    await store.run(outbox.put_part, replace(PART, status="delivered", message="17.5"))
    return "SELECT status FROM outbox", "attempting"


async def tells(store):
    await attempts(store)
    await store.run(outbox.mark_delivered, "t", 1)
    return "SELECT COUNT(*) FROM deliveries", 0


async def draws(store):
    await store.run(rates.draw_tokens, LIMIT, 1)
    return "SELECT COUNT(*) FROM rates", 0


async def indexes(store):
    await take(store, "some words")
    await store.run(search_index.index_words)
    return "SELECT COUNT(*) FROM searched", 0


@pytest.fixture(scope="module")
def server():
    with PostgresServer({"wal_writer_delay": "10s"}) as server:
        yield server


async def found_after(server, tmp_path, does):
    store = PostgresStore(Database(url=server.new_url(), pool_size=2), tmp_path, clock=lambda: 9.0)
    async with asyncio.timeout(60), store.own():
        query, expected = await does(store)
        await asyncio.to_thread(server.restart, immediate=True)
        [(found,)] = await rows_of(store, query)
        return found, expected


@pytest.mark.parametrize(
    "does",
    [
        accepts,
        begins,
        begins_from_a_job,
        starts_a_tool,
        finishes_a_tool,
        decides,
        attempts,
        ends,
    ],
)
async def test_what_others_rely_on_is_on_the_disk(server, tmp_path, does):
    found, expected = await found_after(server, tmp_path, does)
    assert found == expected


@pytest.mark.parametrize("does", [delivers, tells, draws, indexes])
async def test_what_can_be_found_out_again_is_not_waited_for(server, tmp_path, does):
    found, expected = await found_after(server, tmp_path, does)
    assert found == expected
