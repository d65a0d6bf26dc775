"""Adapters keep marks of conversations, and encrypted tokens."""

import pytest

from gateway.conversation import ConversationKey
from gateway.store.decisions import NewConversation, NewThread
from gateway.store.records import EncryptedToken
from gateway.store.units import adapters as adapter_units
from gateway.store.units import deletion, rows
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import take

pytestmark = pytest.mark.usefixtures("database")

PLACE = ConversationKey(platform="x", channel="C1", root="1")


async def test_a_mark_is_replaced_and_each_platform_has_its_own(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        for platform, value in (("x", "1"), ("y", "2"), ("x", "3")):
            await store.run(adapter_units.mark, platform, "alive", value)
        assert (
            await store.run(adapter_units.marks, "x"),
            await store.run(adapter_units.marks, "y"),
        ) == ({"alive": "3"}, {"alive": "2"})
        await store.run(adapter_units.mark, "x", "other", "4")
        assert await store.run(adapter_units.marks, "x", "other") == {"other": "4"}
        assert await store.run(adapter_units.marks, "x", "unknown") == {}


async def test_marks_of_a_conversation_go_with_its_last_thread(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await store.run(adapter_units.mark, "x", "of nothing", "1", of=PLACE)
        await store.run(
            rows.create_thread, NewThread(id="t1", team="demo", definition="d"), key=PLACE
        )
        await store.run(adapter_units.mark, "x", "of the conversation", "1", of=PLACE)
        await store.run(adapter_units.mark, "x", "of all", "1")
        await take(store, "/new", NewConversation(reply=""), key=PLACE, thread="t2", kind="command")
        await store.run(deletion.delete_thread, "t2")
        assert await store.run(adapter_units.marks, "x") == {
            "of the conversation": "1",
            "of all": "1",
        }
        assert (await store.run(deletion.expire, 1e12)).threads == ("t1",)
        assert await store.run(adapter_units.marks, "x") == {"of all": "1"}


async def test_tokens_are_replaced_together_and_deleted_once(tmp_path):
    store = new_store(tmp_path)
    one, two = (EncryptedToken(name=name, key="k1", value=b"\0\xff'") for name in ("one", "two"))
    newer = EncryptedToken(name="one", key="k2", value=b"")
    async with store.own():
        await store.run(adapter_units.put_tokens, [two, one])
        assert await store.run(adapter_units.tokens) == [one, two]
        await store.run(adapter_units.put_tokens, [newer])
        assert await store.run(adapter_units.tokens) == [newer, two]
        assert await store.run(adapter_units.delete_token, "one")
        assert not await store.run(adapter_units.delete_token, "one")
        assert await store.run(adapter_units.tokens) == [two]
