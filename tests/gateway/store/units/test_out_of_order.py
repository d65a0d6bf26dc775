"""Events that come early, or come back."""

from dataclasses import replace

import pytest

from gateway.app.stores import AnyStore
from gateway.conversation import InboundMessage, order_key
from gateway.store.connection import Connection
from gateway.store.decisions import MessageEdit, ThreadDeletion
from gateway.store.units import deletion, inbox, out_of_order
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import ANN, BOB, KEY, begin, begun, end, take

pytestmark = pytest.mark.usefixtures("database")


async def test_a_forgotten_conversation_knows_how_far_it_was_deleted(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        assert await store.run(out_of_order.forgotten, KEY) == ""
        for number in ("1", "3", "2"):
            await take(store, number=number)
        forgets = ThreadDeletion(reply="")
        gone = await take(store, "/forget", forgets, thread="new", kind="command")
        assert gone.forgotten == ("t",)
        assert await store.run(out_of_order.forgotten, KEY) == order_key("3")
        assert await store.run(inbox.accepted_keys, [KEY.dedupe("create", "3")])


ITS_AUTHOR, ANYBODY = MessageEdit(anybody=False), MessageEdit(anybody=True)


async def edit(store: AnyStore, text: str, at: str = "", decision=ITS_AUTHOR, **more):
    return await take(
        store,
        text,
        decision,
        event="edit",
        kind="edit",
        message_id="1",
        order_key=order_key(at) if at else "",
        dedupe=(f"edit/{text}",),
        **more,
    )


async def test_an_edit_that_came_before_its_message_is_kept_for_it(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        await edit(store, "newest", "3")
        await edit(store, "older", "2")
        assert await rows_of(store, "SELECT text FROM early_edits") == [("newest",)]
        await take(store, "as written", number="1")
        assert await rows_of(store, "SELECT * FROM early_edits") == []
        assert (await begin(store)).messages[0].text == "newest"


MESSAGE = InboundMessage(key=KEY, author=ANN, message_id="1", order_key=order_key("2"), text="new")


async def test_a_kept_edit_is_taken_by_its_author_alone_and_once(tmp_path):
    store = new_store(tmp_path)

    def keep_and_take(connection: Connection) -> list[str | None]:
        out_of_order.keep_edit(connection, MESSAGE, "t", "[]")
        older = replace(MESSAGE, text="old", order_key=order_key("1"))
        out_of_order.keep_edit(connection, older, "t", "[]")
        found = [
            out_of_order.take_edit(connection, each)
            for each in (replace(MESSAGE, author=BOB), MESSAGE, MESSAGE)
        ]
        return [each and each.text for each in found]

    async with store.own():
        await take(store, number="7")
        assert await store.write(keep_and_take) == [None, "new", None]


async def test_a_noted_edit_overtakes_older_ones(tmp_path):
    store = new_store(tmp_path)
    noted = out_of_order.EarlyEdit(order_key=order_key("5"), text="new", quotes=())
    async with store.own():
        inbox_id = (await take(store, number="1")).inbox
        await store.write(lambda it: out_of_order.note_edit(it, inbox_id, noted))
        assert (await edit(store, "older", "4")).thread == ""
        assert (await edit(store, "newer", "6")).thread == "t"


async def test_messages_of_a_deleted_person_or_thread_are_known(tmp_path):
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    other = replace(MESSAGE, message_id="2")

    async def known() -> list[bool]:
        return [
            await store.read(lambda it, each=each: out_of_order.is_known(it, each))
            for each in (MESSAGE, other, replace(MESSAGE, message_id="3"))
        ]

    async with store.own():
        await take(store, number="1")
        assert await known() == [True, False, False]
        await store.write(lambda it: out_of_order.remember_person(it, ANN.id))
        await store.write(lambda it: it.execute("DELETE FROM dedupe"))
        assert await known() == [True, False, False]
        await store.write(lambda it: out_of_order.note_deletion(it, other))
        assert await known() == [True, True, False]
        await store.write(lambda it: out_of_order.drop_old(it, it.now + 1))
        assert await known() == [False, False, False]


async def test_a_thread_is_remembered_until_nothing_comes_so_late(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store, number="3")
        await store.write(lambda it: out_of_order.remember_thread(it, "t"))
        await store.run(deletion.delete_thread, "t")
        assert await store.run(out_of_order.forgotten, KEY) == order_key("3")
        await store.write(lambda it: out_of_order.drop_old(it, it.now + 1))
        assert await store.run(out_of_order.forgotten, KEY) == ""


def test_a_message_its_edit_and_its_deletion_have_one_key():
    assert out_of_order.created(MESSAGE) == KEY.dedupe("create", "1")
