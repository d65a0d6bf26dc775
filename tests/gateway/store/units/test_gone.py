"""Deleted messages are noted until the team's state lacks them."""

from dataclasses import replace

import pytest

from gateway.errors import LeaseLost
from gateway.store.decisions import MessageEdit, MessageWithdrawal
from gateway.store.records import Checkpoint
from gateway.store.turn_records import GoneMessage
from gateway.store.units import adapters, deletion, gone
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import KEY, begin, begun, end, take

pytestmark = pytest.mark.usefixtures("database")

STATE = Checkpoint(kind="snapshot", data=b"without")


async def delete(store, number: str) -> None:
    keys = (KEY.dedupe("delete", number),)
    gone = MessageWithdrawal(anybody=False)
    await take(store, "", gone, kind="edit", dedupe=keys, message_id=number, event="delete")


async def edit(store, number: str, text: str) -> None:
    keys = (KEY.dedupe("edit", number),)
    edited = MessageEdit(anybody=False)
    await take(store, text, edited, kind="edit", dedupe=keys, message_id=number, event="edit")


async def test_a_deletion_waits_for_a_turn_and_is_noted_for_good(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        first = await begun(store, "CANARY", number="1")
        await end(store, first, checkpoints=(Checkpoint(kind="snapshot", data=b"CANARY"),))
        heard = first.messages[0].inbox
        await take(store, "waits", number="2")
        await delete(store, "1")
        work = await begin(store)
        assert (bool(first.gone), bool(work.gone)) == (False, True)
        told = GoneMessage(inbox=heard, first=heard, message_id="1", saved=True)
        assert await store.run(gone.gone_messages, "t") == [told]
        stale = replace(work.lease, epoch=work.lease.epoch - 1)
        with pytest.raises(LeaseLost):
            await store.run(gone.take_out, stale, work.gone, STATE)
        await delete(store, "2")  # meanwhile
        assert [each.saved for each in await store.run(gone.gone_messages, "t")] == [True, False]
        await store.run(gone.take_out, work.lease, work.gone, STATE)
        await end(store, work)
        again = await begun(store, "more", number="3")
        assert again.gone not in ("", work.gone)
        await store.run(gone.take_out, again.lease, again.gone, STATE)
        await end(store, again)
        assert (await begun(store, "and more", number="4")).gone == ""
        assert len(await store.run(gone.gone_messages, "t")) == 2


async def test_deleted_and_edited_messages_are_outdated(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        first = await begun(store, "a", number="1")
        await end(store, first)
        second = await begun(store, "b", number="2")
        await end(store, second)
        await end(store, await begun(store, "c", number="3"))
        assert await store.run(gone.outdated_messages, "t") == frozenset()
        await delete(store, "1")
        await edit(store, "2", "b, no: d")
        numbers = {work.messages[0].inbox for work in (first, second)}
        assert await store.run(gone.outdated_messages, "t") == numbers


async def test_no_mark_of_a_deleted_thread_stays(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store, "CANARY", number="1"))
        await delete(store, "1")
        assert await store.run(adapters.marks, adapters.OWN, "gone t")
        await store.run(deletion.delete_thread, "t", goes_on=True)
        assert not await store.run(adapters.marks, adapters.OWN, "gone t")
