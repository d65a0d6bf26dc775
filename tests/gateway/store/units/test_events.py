"""A thread's history, added to and read."""

from dataclasses import replace

import pytest

from gateway.conversation import ConversationKey
from gateway.errors import LeaseLost, NotFound
from gateway.events import ContextFill, MessageFinished, Notice
from gateway.store.connection import Connection
from gateway.store.decisions import NewThread
from gateway.store.records import Checkpoint
from gateway.store.turn_records import TurnEnd, TurnUpdate
from gateway.store.units import events
from gateway.store.units import rows as row_units
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import approval, begin, begun, end, take

pytestmark = pytest.mark.usefixtures("database")


FIRST = Checkpoint(kind="snapshot", data=b"{\0\xff}")
THEN = Checkpoint(kind="delta", data=b"more")


async def test_a_snapshot_takes_the_place_of_all_before_it(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        for each in (FIRST, THEN, THEN, Checkpoint(kind="snapshot", data=b"all"), THEN):
            await store.record(work.lease, TurnUpdate(checkpoints=(each,)))
        assert [part.data for part in await store.run(events.checkpoints, "t")] == [b"all", b"more"]


async def test_the_fill_of_contexts_is_that_of_the_last_end_that_told_it(tmp_path):
    store = new_store(tmp_path)
    fill = (ContextFill(agent="solo", used=430, window=1000),)
    told = TurnEnd(status="done", fill=fill)
    async with store.own():
        for each in (TurnEnd(status="done"), told, TurnEnd(status="failed")):
            await take(store, "hello")
            await store.record((await begin(store)).lease, TurnUpdate(end=each))
        assert await store.run(events.fill, "t") == fill
    assert fill[0].percent == "43 %"


NEW = NewThread(id="t1", team="demo", definition="d")
KEY = ConversationKey.local("t1")


async def test_a_notice_of_no_turn_s_is_added_to_a_thread_that_is_there(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(row_units.create_thread, NEW, key=KEY)
        notice = Notice(thread="t1", turn="", text="It could not be begun.")
        assert await store.run(events.add_notice, "t1", notice) == tuple(
            await store.run(events.events, "t1")
        )
        with pytest.raises(LeaseLost):
            await store.run(events.add_notice, "none", notice)


SAID = MessageFinished(thread="t", agent="solo", message="m", text="so far", ending="cut")


async def test_events_get_their_places_and_are_read_by_them(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        begins = len(await store.run(events.events, "t"))
        notices = [Notice(thread="t", text=str(n)) for n in range(2 * events.TOGETHER + 1)]
        placed = await store.write(lambda it: events.add_events(it, "t", notices))
        assert [each.seq for each in placed] == [begins + 1 + n for n in range(len(notices))]
        assert await store.run(events.events, "t", after=begins, limit=500) == [*placed]
        of_turn = await store.run(events.of_turn, "t", work.lease.turn)
        assert [each.kind for each in of_turn] == ["turn_started"]


async def test_an_incident_is_told_once(tmp_path):
    store = new_store(tmp_path)
    notice = Notice(thread="t", text="It failed.", incident="i1")

    def untold(connection: Connection) -> list[Notice]:
        return events.untold(connection, "t", notice)

    async with store.own():
        await take(store)
        assert await store.read(untold) == [notice]
        await store.run(events.add_notice, "t", notice)
        assert await store.read(untold) == []


async def test_an_answer_that_was_cut_is_found_in_its_turn(tmp_path):
    store = new_store(tmp_path)

    async def cut(back: int) -> str | None:
        found = await store.read(lambda it: events.cut_answer(it, "t", back=back))
        return found and found.text

    async with store.own():
        work = await begun(store)
        said = replace(SAID, turn=work.lease.turn)
        await end(store, work, events=(said,))
        assert await cut(0) == "so far"
        await begun(store)
        assert [await cut(0), await cut(1)] == [None, "so far"]


async def test_a_request_and_old_states_are_read(tmp_path):
    store = new_store(tmp_path)
    state = Checkpoint(kind="snapshot", data=b"old")
    row = "INSERT INTO old_states (thread, definition, replaced_at, n, kind, data)"
    async with store.own():
        work = await begun(store)
        await store.record(work.lease, TurnUpdate(requests=(approval(work),)))
        assert (await store.run(events.request, "r1")).tool == "send"
        with pytest.raises(NotFound):
            await store.run(events.request, "none")
        assert await store.run(events.old_states, "t") == []
        await store.write(
            lambda it: it.execute(
                f"{row} VALUES ('t', 'd', 5.0, 1, 'snapshot', :data)", {"data": b"old"}
            )
        )
        [found] = await store.run(events.old_states, "t")
        assert (found.definition, found.checkpoints) == ("d", (state,))
