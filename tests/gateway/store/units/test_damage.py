"""A thread whose row is damaged is mended, and holds up nothing."""

import pytest

from gateway.content.attachments import MISSING
from gateway.events import Notice
from gateway.store.rulebook import RecoveryWords
from gateway.store.units import audit, claims, threads, turns
from gateway.store.units.invariants import broken_laws
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import begin, begun, end, left_by, take

pytestmark = pytest.mark.usefixtures("database")

WORDS = RecoveryWords(interrupted="it goes on", parked="it is not tried again", reason="crashed")
NOTICE = Notice(thread="t", turn="", text="No.", level="error")
DAMAGES = ["participants = '{'", "participants = '\"x\"'", "key = '{'", "key = ''", "key = 'a/b'"]


async def damage(store, what):
    await store.write(lambda connection: connection.execute(f"UPDATE threads SET {what}"))


async def marks(store):
    rows = await store.run(audit.whole_audit, after=0, since=0, until=9e9, limit=99, longest=99)
    return [row.thread for row in rows if row.what == "thread.mended"]


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("status", ["running", "paused", ""])
async def test_work_that_can_t_be_begun_ends_and_its_thread_is_mended(tmp_path, what, status):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        await take(store, "next")
        if status != "running":
            await end(store, work, status or "done")
        await damage(store, what)
        ended = await store.run(turns.end_unbegun, "t", "boot", NOTICE)
        assert "notice" in [each.kind for each in ended.events]
        assert await marks(store) == ["t"]
        while ended.again:
            ended = await store.run(turns.end_unbegun, "t", "boot", NOTICE)
        assert await store.run(claims.begin, "t", "boot", words=MISSING) is None
        thread = await store.run(threads.thread, "t")
        assert (thread.participants, thread.key) == ((), work.thread.key)
        assert thread.current is ("key" not in what)
        assert await store.read(broken_laws) == []
        assert await marks(store) == ["t"]


@pytest.mark.parametrize("what", DAMAGES)
async def test_a_start_is_held_up_by_no_thread(tmp_path, what):
    store = new_store(tmp_path)
    async with store.own():
        await begun(store)
        await damage(store, what)
        assert [thread for thread, *_ in await left_by(store, "later", WORDS)] == ["t"]
        assert await marks(store) == ["t"]
        assert (await begin(store, boot="later")).lease.thread == "t"
