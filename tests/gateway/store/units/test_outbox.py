"""Messages of a platform are kept until their thread is delivered."""

from dataclasses import replace

import pytest

from gateway.errors import NotFound
from gateway.outbox import OutboxRow
from gateway.store.units import counts, deletion, outbox, threads
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import KEY, begin, begun, end, place, take

pytestmark = pytest.mark.usefixtures("database")

PART = OutboxRow(
    key="t/m1/0",
    thread="t",
    place=str(KEY),
    item="m1",
    n=0,
    seq=2,
    status="pending",
    first_at=1.5,
    at=2.5,
)


async def test_a_part_is_kept_as_it_was_written_last(tmp_path):
    store = new_store(tmp_path)
    sent = replace(
        PART,
        status="delivered",
        message="17.5",
        last=5,
        body="b",
        digest="d",
        closed=True,
        open=True,
        unsure=True,
        generation=2,
        attempts=3,
        reason="late",
    )
    async with store.own():
        await take(store)
        await store.run(outbox.put_part, PART)
        assert (await store.run(outbox.delivery, "t")).rows == (PART,)
        await store.run(outbox.put_part, sent)
        await store.run(outbox.put_part, replace(PART, key="t/m1/1", n=1))
        found = await store.run(outbox.delivery, "t")
    assert found.rows == (sent, replace(PART, key="t/m1/1", n=1))
    assert (found.told, found.gone) == (0, "")


async def test_a_thread_is_undelivered_until_all_its_events_are(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        assert await store.run(outbox.undelivered_threads, "x") == ["t"]
        assert await store.run(outbox.undelivered_threads, "y") == []
        last = (await store.run(threads.thread, "t")).last_seq
        assert await store.run(outbox.mark_delivered, "t", last - 1) == last
        assert await store.run(outbox.undelivered_threads, "x") == ["t"]
        assert await store.run(outbox.mark_delivered, "t", last) == last
        assert await store.run(outbox.undelivered_threads, "x") == []
        assert (
            (await store.run(outbox.delivery, "t")).told
            == (await store.run(outbox.delivery, "t")).last
            == last
        )


async def test_parts_are_dropped_once_more_is_delivered_but_questions_and_failures(tmp_path):
    store = new_store(tmp_path)
    parts = [
        replace(PART, key="done", item="a", status="delivered"),
        replace(PART, key="asks", item="b", status="delivered", open=True),
        replace(PART, key="failed", item="c", status="failed"),
        replace(PART, key="later", item="d", seq=3),
    ]
    async with store.own():
        await take(store)
        for part in parts:
            await store.run(outbox.put_part, part)
        for seq in (2, 3, 1):
            await store.run(outbox.mark_delivered, "t", seq)
        found = await store.run(outbox.delivery, "t")
        assert (await store.run(counts.counts)).outbox == {
            "delivered": 1,
            "failed": 1,
            "pending": 1,
        }
    assert [row.key for row in found.rows] == ["asks", "failed", "later"]
    assert found.told == 3


async def test_what_can_not_be_delivered_is_given_up_and_the_thread_is_tried_again(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store)
        await store.run(outbox.put_part, PART)
        await store.run(outbox.put_part, replace(PART, key="sent", n=1, status="delivered"))
        await store.run(outbox.give_up, "t", 7, "archived")
        await store.run(outbox.give_up, "t", 5, "archived")
        gone = await store.run(outbox.delivery, "t")
        await store.run(outbox.clear_gone, "t")
        again = await store.run(outbox.delivery, "t")
    assert [(row.status, row.reason) for row in gone.rows] == [
        ("failed", "archived"),
        ("delivered", ""),
    ]
    assert (gone.gone, gone.told, again.gone) == ("archived", 7, "")


async def test_nothing_is_kept_of_a_thread_that_is_gone(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store)
        await store.run(outbox.put_part, PART)
        await store.run(deletion.delete_thread, "t")
        for call in (
            store.run(outbox.delivery, "t"),
            store.run(outbox.put_part, PART),
            store.run(outbox.mark_delivered, "t", 1),
            store.run(outbox.give_up, "t", 1, ""),
        ):
            with pytest.raises(NotFound):
                await call


async def test_a_turn_has_the_link_of_its_first_message_with_one(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store, "a", number="1")
        await take(store, "b", number="2", link="https://x.example/2")
        first = await begin(store)
        assert await store.run(threads.link_of, first.lease.turn) == ""
        await end(store, first)
        second = await begin(store)
        assert await store.run(threads.link_of, second.lease.turn) == "https://x.example/2"


async def test_the_messages_of_a_turn_that_were_written_at_its_place(tmp_path):
    store, elsewhere = new_store(tmp_path), place("2")
    async with store.own():
        await take(store, "a", number="1")
        first = await begin(store)
        turn, number = first.lease.turn, first.messages[0].inbox
        assert await store.run(outbox.messages_of, KEY, turn=turn) == ["1"]
        assert await store.run(outbox.messages_of, KEY, inbox=number) == ["1"]
        for other in (
            store.run(outbox.messages_of, elsewhere, turn=turn),
            store.run(outbox.messages_of, KEY, turn="another"),
            store.run(outbox.messages_of, KEY, inbox=99),
        ):
            assert await other == []
