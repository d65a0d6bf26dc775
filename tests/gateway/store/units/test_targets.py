"""The message that an edit or a deletion is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.conversation import Attachment, AwaitedFile, InboundMessage, Quote, order_key
from gateway.events import MessageQueued, Notice
from gateway.store.connection import Connection
from gateway.store.decisions import MessageEdit
from gateway.store.rulebook import Offer
from gateway.store.units import targets
from gateway.store.units.targets import Target
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, BOB, KEY, begin, begun, take

pytestmark = pytest.mark.usefixtures("database")

FILE = Attachment(name="a.txt", media_type="text/plain", data=b"one")
OTHER = Attachment(name="b.txt", media_type="text/plain", data=b"two")
EDIT = InboundMessage(key=KEY, author=ANN, message_id="1", text="hi", attachments=(FILE,))
OFFER = Offer(text="It was edited.", command="/again 1", label="Again")


def target(connection: Connection, message: InboundMessage = EDIT) -> Target:
    found = targets.find_target(connection, message)
    assert found is not None
    return found


def names(connection: Connection, inbox: int) -> list[str]:
    query = "SELECT name FROM attachments WHERE inbox = :inbox ORDER BY n"
    return [row["name"] for row in connection.fetch(query, {"inbox": inbox})]


async def edit(store: Any, text: str, at: str) -> int:
    """An edit of a message whose turn has begun."""
    accepted = await take(
        store,
        text,
        MessageEdit(anybody=False),
        kind="edit",
        event="edit",
        message_id="1",
        order_key=order_key(at),
        dedupe=(at,),
        attachments=(OTHER,),
    )
    return accepted.inbox


async def test_a_target_is_found_in_its_channel_and_waits_or_is_worked_on(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        await take(store, number="1")
        waits = await store.read(target)
        assert (waits.text, waits.author, waits.waits, waits.is_worked_on) == (
            "hi",
            ANN.id,
            True,
            False,
        )
        for other in (
            replace(EDIT, message_id="2"),
            replace(EDIT, message_id=""),
            replace(EDIT, key=replace(KEY, channel="C2")),
        ):
            assert await store.read(lambda it, each=other: targets.find_target(it, each)) is None
        await begin(store)
        begun = await store.read(target)
        assert (begun.waits, begun.is_worked_on) == (False, True)


async def test_a_target_is_the_only_concern_of_its_turn(tmp_path: Path) -> None:
    store = new_store(tmp_path)

    def alone(connection: Connection) -> bool:
        return targets.is_only_concern(connection, target(connection))

    async with store.own():
        await begun(store, number="1")
        assert await store.read(alone)
        await take(store, author=BOB, number="2")
        assert not await store.read(alone)


async def test_an_edit_is_new_if_its_text_cards_or_files_differ(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    known = AwaitedFile(name="a.txt", media_type="text/plain", size=3)

    async def is_new(**changed: Any) -> bool:
        message = replace(EDIT, **changed)
        return await store.read(lambda it: targets.is_new(it, target(it), message))

    async with store.own():
        await take(store, number="1", attachments=(FILE,))
        assert not await is_new()
        assert await is_new(text="hello")
        assert await is_new(attachments=(OTHER,))
        assert await is_new(quotes=(Quote(text="firing", kind="card"),))
        assert not await is_new(attachments=(), awaited=(known,))
        assert await is_new(attachments=(), awaited=(replace(known, name="b.txt"),))
        assert not await is_new(attachments=(), keeps_files=True)


async def test_the_newest_edit_says_what_the_target_says(tmp_path: Path) -> None:
    store = new_store(tmp_path)

    def overtaken(connection: Connection, mark: str) -> bool:
        message = replace(EDIT, order_key=order_key(mark))
        return targets.is_overtaken(connection, target(connection), message)

    async with store.own():
        work = await begun(store, number="1")
        inbox = work.messages[0].inbox
        assert await store.read(lambda it: targets.latest(it, target(it))) == (inbox, "hi")
        edited = await edit(store, "hello", "3")
        assert await store.read(lambda it: targets.latest(it, target(it))) == (edited, "hello")
        assert await store.read(lambda it: overtaken(it, "2"))
        assert not await store.read(lambda it: overtaken(it, "4"))
        newest = await store.read(lambda it: targets.newest_edit(it, inbox))
        assert newest is not None
        assert newest["text"] == "hello"
        await store.write(lambda it: targets.forget_edits(it, inbox, but=edited))
        assert await store.read(lambda it: targets.newest_edit(it, inbox)) is not None
        await store.write(lambda it: targets.forget_edits(it, inbox))
        assert await store.read(lambda it: targets.newest_edit(it, inbox)) is None
        assert await store.read(lambda it: names(it, edited)) == []


async def test_an_edited_text_is_run_again_with_its_files(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, number="1")
        inbox = work.messages[0].inbox
        await edit(store, "hello", "3")
        again = (await take(store, "hello", number="5")).inbox

        def repeat(connection: Connection) -> None:
            row = targets.newest_edit(connection, inbox)
            assert row is not None
            targets.repeat(connection, inbox, row, again)
            assert names(connection, again) == ["b.txt"]
            assert targets.newest_edit(connection, inbox) is None

        await store.write(repeat)


async def test_files_are_kept_copied_and_replaced(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    kept = AwaitedFile(name="a.txt", media_type="text/plain", size=3)
    async with store.own():
        first = (await take(store, number="1", attachments=(FILE, OTHER))).inbox
        second = (await take(store, number="2")).inbox

        def change(connection: Connection) -> None:
            targets.keep_files(connection, first, [kept])
            assert names(connection, first) == ["a.txt"]
            targets.copy_files(connection, first, second)
            assert names(connection, second) == ["a.txt"]
            message = replace(EDIT, attachments=(OTHER,))
            targets.replace_files(connection, target(connection), message)
            assert names(connection, first) == ["b.txt"]

        await store.write(change)


async def test_what_may_be_done_is_offered_once(tmp_path: Path) -> None:
    store = new_store(tmp_path)

    def offer(connection: Connection) -> list[Any]:
        return [*targets.offer_again(connection, target(connection), OFFER)]

    async with store.own():
        await take(store, number="1")
        [shown] = await store.write(lambda it: targets.show_again(it, target(it)))
        assert isinstance(shown, MessageQueued)
        assert (shown.message.text, shown.message.author) == ("hi", "Ann")
        work = await begin(store)
        [notice] = await store.write(offer)
        assert isinstance(notice, Notice)
        assert (notice.text, notice.command, notice.turn) == ("It was edited.", "/again 1", "")
        assert await store.write(offer) == []
        [made] = await store.write(lambda it: targets.make_offer(it, target(it), OFFER))
        assert made.turn == work.lease.turn
