"""Edits of messages that wait, come later, or are done."""

import pytest

from gateway.app.stores import AnyStore
from gateway.conversation import Attachment, Quote, order_key
from gateway.events import Notice
from gateway.store.decisions import MessageEdit, ModeChange, MuteChange, RepeatedTurn
from gateway.store.units import claims, threads
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import BOB, begin, begun, end, take

pytestmark = pytest.mark.usefixtures("database")

FILE = Attachment(name="a.txt", media_type="text/plain", data=b"one")
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


async def test_a_waiting_message_is_run_as_it_was_edited_last(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store, "helo", number="1", attachments=(FILE,))
        shown = await edit(store, "hello", "3", attachments=(FILE,))
        assert [event.kind for event in shown.events] == ["message_queued"]
        assert not (await edit(store, "hello", attachments=(FILE,))).events
        assert (await edit(store, "overtaken", "2")).thread == ""
        await edit(store, "not Bob's", "4", author=BOB)
        work = await begin(store)
    assert [(m.text, len(m.quotes)) for m in work.messages] == [("hello", 1)]


async def test_a_card_that_changes_is_an_edit_and_a_preview_is_none(tmp_path):
    store = new_store(tmp_path)
    firing, resolved = (Quote(kind="card", text=text) for text in ("firing", "resolved"))
    preview = Quote(kind="link", text="a page")
    async with store.own():
        await take(store, "", number="1", quotes=(firing,))
        assert (await edit(store, "", "2", keeps_files=True, quotes=(firing, preview))).thread == ""
        assert (await edit(store, "", "3", keeps_files=True, quotes=(resolved,))).thread
        work = await begin(store)
    assert work.messages[0].quotes == (resolved,)


async def test_an_edit_that_comes_too_late_is_offered_once_and_run_on_demand(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        first = await take(store, "helo", number="1", attachments=(FILE,))
        await end(store, await begin(store))
        offers = [await edit(store, text, keeps_files=True) for text in ("hello", "hello!")]
        assert [len(each.events) for each in offers] == [1, 0]
        again = RepeatedTurn(inbox=first.inbox)
        await take(store, "/again", again, kind="command", author=BOB)
        assert await store.run(claims.begin, "t", "boot", words=None) is None  # type: ignore[arg-type]
        await take(store, "/again", again, kind="command")
        work = await begin(store)
        [message] = work.messages
        assert (message.text, message.again) == ("hello!", first.inbox)
        assert [quote.text for quote in message.quotes] == ["one"]
        await take(store, "/again", again, kind="command")
        assert await rows_of(store, "SELECT * FROM inbox WHERE outcome = 'queued'") == []


async def test_an_operator_edits_for_its_author(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await take(store, "helo", number="1")
        await edit(store, "hello", decision=ANYBODY, author=BOB)
        assert (await begin(store)).messages[0].text == "hello"


async def test_a_thread_is_muted_and_keeps_its_mode(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store))
        for mode in ("steer", "interrupt", "collect", "queue"):
            await take(store, "/queue mode", ModeChange(mode=mode, reply=""), kind="command")
            for muted in (True, False):
                change = MuteChange(muted=muted, notice=f"muted: {muted}")
                accepted = await take(store, "/mute", change, kind="command")
                [notice] = accepted.events
                assert isinstance(notice, Notice)
                assert notice.text == f"muted: {muted}"
                thread = await store.run(threads.thread, "t")
                assert (thread.muted, thread.mode) == (muted, mode)
