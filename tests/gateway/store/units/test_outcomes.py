"""Commands that begin or delete a thread."""

import pytest

from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.store.decisions import NewConversation, QueueEntry, ThreadDeletion
from gateway.store.units import inbox
from gateway.store.units import threads as thread_units
from tests.fakes.decided import decided
from tests.fakes.new_store import new_store

KEY = ConversationKey(platform="x", root="1")


@pytest.fixture
async def store(database, tmp_path):
    """A store with a conversation that has left one thread."""
    store = new_store(tmp_path / "store")
    async with store.own():
        await send(store, QueueEntry(), "old")
        await send(store, NewConversation(reply=""), "new")
        yield store


async def send(store, decision, id, *, thread=""):
    message = InboundMessage(key=KEY, thread=thread, author=Author(id="ann"), text="hi")
    return await store.run(inbox.accept, decided(message, decision, thread=id))


async def test_a_new_thread_that_is_asked_for_in_an_older_one_follows_the_current_one(store):
    accepted = await send(store, NewConversation(reply=""), "newest", thread="old")
    assert (accepted.thread, accepted.lane) == ("newest", "new")
    threads = {thread.id: thread.current for thread in await store.run(thread_units.threads)}
    assert threads == {"old": False, "new": False, "newest": True}


async def test_an_older_thread_is_deleted_and_the_current_one_stays(store):
    accepted = await send(store, ThreadDeletion(reply=""), "newest", thread="old")
    assert (accepted.thread, accepted.forgotten) == ("new", ("old",))
    (thread,) = await store.run(thread_units.threads)
    assert (thread.id, thread.current) == ("new", True)
