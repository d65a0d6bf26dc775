"""Memos are added once, in bounded places, and deleted by people."""

import pytest

from gateway.errors import LeaseLost
from gateway.store.decisions import MemoReply
from gateway.store.records import Memo, MemoPlace
from gateway.store.units import deletion, memos
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, BOB, begun, end, take

pytestmark = pytest.mark.usefixtures("database")

TEAM = MemoPlace(team="demo", scope="team", key="")
THREAD = MemoPlace(team="demo", scope="thread", key="t")


async def test_a_call_adds_a_memo_once_and_no_place_has_too_many(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        lease = (await begun(store)).lease
        first = await store.run(memos.add_memo, lease, TEAM, ANN, "likes tea", call="c1", most=2)
        for call, text in (("c1", "something else"), ("c2", "likes tea")):
            assert (
                await store.run(memos.add_memo, lease, TEAM, ANN, text, call=call, most=2) == first
            )
        second = await store.run(memos.add_memo, lease, TEAM, BOB, "likes milk", call="c3", most=2)
        assert (
            await store.run(memos.add_memo, lease, TEAM, BOB, "likes cake", call="c4", most=2) == 0
        )
        assert (
            await store.run(memos.add_memo, lease, THREAD, BOB, "likes cake", call="c5", most=2)
            > second
        )
        assert await store.run(memos.memos, TEAM) == [
            Memo(id=first, team="demo", scope="team", person=ANN.id, name="Ann", text="likes tea"),
            Memo(
                id=second, team="demo", scope="team", person=BOB.id, name="Bob", text="likes milk"
            ),
        ]


async def test_a_memo_is_deleted_for_its_person_alone(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        memo = await store.run(
            memos.add_memo, work.lease, TEAM, ANN, "likes tea", call="c1", most=9
        )
        assert not await store.run(memos.delete_memo, work.lease, TEAM, BOB.id, memo)
        assert not await store.run(memos.delete_memo, work.lease, THREAD, ANN.id, memo)
        assert await store.run(memos.delete_memo, work.lease, TEAM, ANN.id, memo)
        assert await store.run(memos.memos, TEAM) == []
        await end(store, work)
        for write in (
            store.run(memos.add_memo, work.lease, TEAM, ANN, "too late", call="c2", most=9),
            store.run(memos.delete_memo, work.lease, TEAM, ANN.id, memo),
        ):
            with pytest.raises(LeaseLost):
                await write


async def test_people_delete_one_memo_of_theirs_or_all(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        lease = (await begun(store)).lease
        first = await store.run(memos.add_memo, lease, TEAM, ANN, "a1", call="c1", most=9)
        await store.run(memos.add_memo, lease, TEAM, ANN, "a2", call="c2", most=9)
        await store.run(memos.add_memo, lease, TEAM, BOB, "b", call="c3", most=9)
        for number, left in ((first, ["a2", "b"]), (0, ["b"])):
            await take(store, "/memory", MemoReply(delete=number), kind="command")
            assert [memo.text for memo in await store.run(memos.memos, TEAM)] == left


async def test_memos_of_a_thread_go_with_it_and_others_stay(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        lease = (await begun(store)).lease
        await store.run(memos.add_memo, lease, TEAM, ANN, "stays", call="c1", most=9)
        await store.run(memos.add_memo, lease, THREAD, ANN, "goes", call="c2", most=9)
        await store.run(deletion.delete_thread, "t")
        assert [memo.text for memo in await store.run(memos.memos, TEAM)] == ["stays"]
        assert await store.run(memos.memos, THREAD) == []
