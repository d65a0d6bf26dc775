"""Old threads go, a share at once; sums of use stay."""

import pytest

from gateway.app.stores import AnyStore
from gateway.errors import NotFound
from gateway.events import MessageFinished
from gateway.store.records import Checkpoint, ModelUse
from gateway.store.turn_records import ExpiredThreads, RetentionPause, TurnUpdate
from gateway.store.units import deletion, search_index, threads, usage
from gateway.store.units.deletion import FEW
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_of, tables_of
from tests.gateway.store.talk import ANN, approval, begun, end, place, take

pytestmark = pytest.mark.usefixtures("database")

DAY = 86400.0


async def idle(store: AnyStore, name: str, *uses: ModelUse) -> None:
    """A thread that was used and is at rest."""
    key = place(name)
    work = await begun(store, key=key, thread=name)
    await end(store, work, uses=uses)


async def test_a_share_of_the_threads_goes_and_the_rest_waits(tmp_path):
    now = [0.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    async with store.own():
        for n in range(20):
            now[0] = 100.0 - n
            await idle(store, f"t{n:02}")
        assert await store.run(deletion.retention_pause) is None
        expired = await store.run(deletion.expire, 99.0, share=0.5, next_at=7.5)
        assert expired.threads == tuple(f"t{n:02}" for n in range(19, 9, -1))
        assert expired.left == 8
        assert await store.run(deletion.retention_pause) == RetentionPause(next_at=7.5, left=8)
        few = await store.run(deletion.expire, 99.0, share=0.0, next_at=8.5)
        assert (len(few.threads), few.left) == (FEW, 3)
        assert len((await store.run(deletion.expire, 99.0)).threads) == 3
        assert await store.run(deletion.retention_pause) is None
        assert await store.run(deletion.expire, 99.0) == ExpiredThreads(threads=())
        assert [thread.id for thread in await store.run(threads.threads)] == ["t00", "t01"]


async def test_what_works_or_waits_for_a_turn_is_kept(tmp_path):
    store = new_store(tmp_path, clock=lambda: 100.0)
    async with store.own():
        await begun(store, thread="works")
        key = place("2")
        work = await begun(store, key=key, thread="asks")
        await end(store, work, "waiting")
        waits = place("3")
        await take(store, key=waits, thread="waits")
        assert (await store.run(deletion.expire, 50.0)).threads == ()
        assert sorted((await store.run(deletion.expire, 150.0)).threads) == ["asks", "waits"]


async def test_use_of_deleted_threads_is_summed_by_day(tmp_path):
    now = [0.0]
    store = new_store(tmp_path, clock=lambda: now[0])
    use = ModelUse(
        model="m",
        person=ANN.id,
        team="demo",
        workspace="x",
        prompt_tokens=2,
        completion_tokens=1,
        cost=0.5,
    )
    async with store.own():
        for n in range(4):
            now[0] = 10.0 * DAY + n * DAY / 2
            await idle(store, f"t{n}", use)
        now[0] = 100.0 * DAY
        for _ in range(2):
            await store.run(deletion.expire, 50.0 * DAY)
        assert await rows_of(
            store, "SELECT thread, person, turns, cost FROM usage ORDER BY at"
        ) == [
            ("", "", 2, 1.0),
            ("", "", 2, 1.0),
        ]
        whole = await store.run(usage.spent, "team", "demo", 0.0)
        assert (whole.prompt_tokens, whole.completion_tokens, whole.turns) == (8, 4, 4)


async def test_a_deleted_thread_is_in_no_row_but_the_audits(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "said", thread="deleted-canary", number="1")
        said = MessageFinished(thread="deleted-canary", agent="a", message="m", text="said")
        checkpoints = (Checkpoint(kind="snapshot", data=b"state"),)
        asked = (approval(work, call="deleted-canary"),)
        update = TurnUpdate(events=(said,), checkpoints=checkpoints, requests=asked)
        await store.record(work.lease, update)
        while await store.run(search_index.index_words):
            pass
        await store.run(deletion.delete_thread, "deleted-canary")
        found = {
            table
            for table in await store.read(tables_of)
            if "deleted-canary" in repr(await rows_of(store, f"SELECT * FROM {table}"))
        }
        assert found == {"audit"}
        with pytest.raises(NotFound):
            await store.run(deletion.delete_thread, "deleted-canary")
