"""Messages that are accepted, and looked up."""

import pytest

from gateway.conversation import InboundMessage, order_key
from gateway.store.decisions import CommandReply
from gateway.store.units import inbox, threads
from tests.fakes.decided import decided
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, KEY, take

pytestmark = pytest.mark.usefixtures("database")


async def test_keys_are_known_however_many_are_asked_for(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        for number in ("1", "2"):
            await take(store, number=number)
        keys = [KEY.dedupe("create", str(number)) for number in range(2000)]
        assert await store.run(inbox.accepted_keys, keys) == {keys[1], keys[2]}
        assert await store.run(inbox.accepted_keys, []) == frozenset()


async def test_the_last_of_some_commands_before_a_place_is_found(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store)
        for text, number in (("/mute", "2"), ("/unmute", "4"), ("/status", "5")):
            await take(store, text, CommandReply(reply=""), number=number, kind="command")
        commands = ("/mute", "/unmute")
        assert [
            await store.run(inbox.last_command, "t", order_key(place), commands)
            for place in ("2", "4", "6")
        ] == ["", "/mute", "/unmute"]


async def test_messages_are_taken_in_their_order_and_each_once(tmp_path):
    store = new_store(tmp_path)
    said = [
        decided(InboundMessage(key=KEY, author=ANN, text=text, dedupe=(key,)), thread=f"t{n}")
        for n, (text, key) in enumerate([("one", "k1"), ("two", "k2"), ("one", "k1")])
    ]
    async with store.own():
        first, second, again = await store.run(inbox.accept_all, said)
        assert [first.thread, second.thread, again.thread] == ["t0", "t0", "t0"]
        assert (again.inbox, again.decision) == (first.inbox, None)
        assert first.inbox < second.inbox
        assert first.wake
        assert (await store.run(threads.thread, "t0")).title == "one"


def test_keys_of_a_workspace_begin_alike():
    prefix = inbox.workspace_prefix(KEY)
    assert str(KEY).startswith(prefix)
    assert prefix == "x/T1/"
