"""Waiting messages: their order, their files, taking back, and commands among them."""

import pytest

from gateway.app.stores import AnyStore
from gateway.conversation import Attachment, Quote
from gateway.events import TurnStarted
from gateway.store.decisions import MessageWithdrawal, ModeChange, QueuePromotion, QueueRemoval
from gateway.store.units import claims, events, inbox, queue, threads
from tests.fakes.new_store import is_on_postgres, new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import ANN, BOB, KEY, begin, begun, end, take

pytestmark = pytest.mark.usefixtures("database")

TEXT = Attachment(name="plan.txt", media_type="text/plain", data="früh".encode())


async def texts(store: AnyStore) -> list[str]:
    """The texts of all turns, worked off."""
    found: list[str] = []
    while work := await store.run(claims.begin, "t", "boot", words=None):  # type: ignore[arg-type]
        found += [each.text for each in work.messages]  # type: ignore[union-attr]
        await end(store, work)  # type: ignore[arg-type]
    return found


async def contents(store) -> int:
    """Number of different files that the store has."""
    table = "contents" if is_on_postgres() else "blobs"
    ((number,),) = await rows_of(store, f"SELECT COUNT(*) FROM {table}")
    return number


async def test_a_waiting_message_is_withdrawn_with_its_files_and_not_twice(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store, "first")
        accepted = await take(store, "second", attachments=(TEXT,))
        withdrawn = await store.run(queue.withdraw_here, "t", accepted.inbox)
        assert withdrawn is not None
        assert (withdrawn[0], [event.kind for event in withdrawn[1]]) == (
            "second",
            ["message_withdrawn"],
        )
        assert await store.run(queue.withdraw_here, "t", accepted.inbox) is None
        assert await rows_of(store, "SELECT * FROM attachments") == []
        assert await contents(store) == 0
        assert await texts(store) == ["first"]


async def test_a_message_comes_first_or_is_removed_by_its_number(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        inboxes = [(await take(store, text)).inbox for text in "abc"]
        assert [thread.queued for thread in await store.run(threads.threads)] == [3]
        promoted = QueuePromotion(inbox=inboxes[2], anybody=True)
        await take(store, "/queue first", promoted, kind="command", author=BOB)
        await take(store, "/queue drop", QueueRemoval(inbox=inboxes[0]), kind="command")
        await take(store, "/queue drop", QueueRemoval(inbox=inboxes[1]), kind="command", author=BOB)
        assert await texts(store) == ["c", "b"]


async def test_a_turn_of_a_thread_that_collects_takes_all_that_waits(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        await take(store, "/queue mode collect", ModeChange(mode="collect", reply=""))
        for text in "abc":
            await take(store, text)
        work = await begin(store)
        assert [each.text for each in work.messages] == ["a", "b", "c"]


async def test_a_waiting_message_deleted_on_its_platform_gets_no_turn(tmp_path):
    store = new_store(tmp_path)
    withdraws = MessageWithdrawal(anybody=True)
    async with store.own():
        await take(store, "a", number="1")
        await take(store, "b", number="2")
        await take(store, "", withdraws, event="delete", message_id="1", author=BOB)
        assert await texts(store) == ["b"]
        # Nothing was taken of this one: it is remembered that it must not be.
        await take(store, "", withdraws, event="delete", message_id="3", author=BOB)
        key = KEY.dedupe("create", "3")
        assert await store.run(inbox.accepted_keys, [key, "other"]) == {key}


async def test_what_came_with_a_message_is_kept_as_it_was(tmp_path):
    store = new_store(tmp_path)
    quotes = (Quote(text="a \u2028 'quoted' line", author="Eve", kind="quote"),)
    async with store.own():
        accepted = await take(store, "text with \\ and :name and %s", quotes=quotes, author=ANN)
        work = await begin(store)
        [started] = [e for e in await store.run(events.events, "t") if isinstance(e, TurnStarted)]
    assert work.messages[0].inbox == accepted.inbox == started.messages[0].inbox
    assert work.messages[0].text == started.messages[0].text == "text with \\ and :name and %s"
    assert work.messages[0].quotes == quotes
