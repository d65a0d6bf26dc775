"""Files of messages, the awaited ones included."""

from typing import Any

import pytest

from gateway.content.attachments import MISSING
from gateway.conversation import (
    AWAITED_SECONDS,
    Attachment,
    AwaitedFile,
    ConversationKey,
    MissingFile,
    Quote,
)
from gateway.store.connection import Connection
from gateway.store.decisions import FileArrival
from gateway.store.rulebook import SortedFiles
from gateway.store.turn_records import TurnDelay
from gateway.store.units import claims, deletion, files, threads
from gateway.values import value
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import is_on_postgres, new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import KEY, begin, take

pytestmark = pytest.mark.usefixtures("database")


PLAN = AwaitedFile(name="plan.txt", media_type="text/plain", size=9, ref="F1")
IMAGE = Attachment(name="a.png", media_type="image/png", data=b"\x89png\0")
TEXT = Attachment(name="plan.txt", media_type="text/plain", data="früh".encode())
PROGRAM = Attachment(name="a.bin", media_type="application/y", data=b"")


async def contents(store) -> int:
    """Number of different files that the store has."""
    table = "contents" if is_on_postgres() else "blobs"
    ((number,),) = await rows_of(store, f"SELECT COUNT(*) FROM {table}")
    return number


@value
class Fetched:
    """Files as they were fetched."""

    found: SortedFiles

    def sort(self, held: int) -> SortedFiles:
        return self.found


async def test_a_message_gets_its_files_and_only_once(tmp_path):
    store = new_store(tmp_path)
    rules = Fetched(
        found=SortedFiles(
            taken=(IMAGE, TEXT, PROGRAM),
            missing=(MissingFile(name="b.txt", why="it is gone"),),
            notice="b.txt is gone.",
        )
    )
    arrived: list[FileArrival | None] = []
    async with store.own():
        accepted = await take(store, "look", awaited=(PLAN,))
        [waits] = await store.run(files.awaiting, "x")
        assert (waits.inbox, waits.key, waits.files) == (accepted.inbox, KEY, (PLAN,))
        assert await store.run(files.awaiting, "y") == []
        for _ in range(2):
            await store.run_then(arrived.append, files.bring, accepted.inbox, rules)
        assert await store.run(files.awaiting, "x") == []
        work = await begin(store)
        thread = await store.run(threads.thread, "t")
        size = len(IMAGE.data) + len(TEXT.data)
        assert await contents(store) == 4
    first, second = arrived
    assert first is not None
    assert ([event.kind for event in first.events], second) == (["notice"], None)
    [message] = work.messages
    assert message.images == (("image/png", IMAGE.data),)
    assert message.quotes == (Quote(text="früh", author="plan.txt", kind="file"),)
    assert message.missing == (
        MissingFile(name="a.bin", why=""),
        MissingFile(name="b.txt", why="it is gone"),
    )
    assert (message.untrusted, thread.attached) == (True, size)


async def test_the_same_contents_are_kept_until_the_last_message_with_them_is_deleted(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        for thread in ("a", "b"):
            key = ConversationKey(platform="x", root=thread)
            await take(store, thread=thread, key=key, attachments=(TEXT, TEXT))
        count = "SELECT COUNT(*) FROM attachments"
        assert (await contents(store), await rows_of(store, count)) == (1, [(4,)])
        await store.run(deletion.delete_thread, "a")
        assert (await contents(store), await rows_of(store, count)) == (1, [(2,)])
        await store.run(deletion.delete_thread, "b")
        assert (await contents(store), await rows_of(store, count)) == (0, [(0,)])


async def test_a_turn_begins_without_files_that_do_not_come(tmp_path):
    clock = HandClock()
    store = new_store(tmp_path, clock=clock.time)
    begin_again: Any = (claims.begin, "t", "boot")
    async with store.own():
        await take(store, "look", awaited=(PLAN,))
        clock.advance(AWAITED_SECONDS - 1)
        delay = await store.run(*begin_again, words=MISSING)
        assert isinstance(delay, TurnDelay)
        assert delay.seconds == 1.0
        await store.write(files.expect_anew)
        delay = await store.run(*begin_again, words=MISSING)
        assert delay.seconds > 1.0
        clock.advance(AWAITED_SECONDS)
        work = await begin(store)
        assert [each.name for each in work.messages[0].missing] == ["plan.txt"]
        assert [event.kind for event in work.events] == ["notice", "turn_started"]


async def test_parts_of_a_message_are_read_by_what_they_are(tmp_path):
    store = new_store(tmp_path)
    lost = MissingFile(name="a poll", part=True)
    async with store.own():
        inbox = (await take(store, "look")).inbox

        def attach(connection: Connection) -> None:
            files.attach(connection, inbox, (IMAGE, TEXT), (lost,))
            files.attach(connection, inbox, (PROGRAM,))

        await store.write(attach)
        assert await store.read(lambda it: files.images(it, inbox)) == (("image/png", IMAGE.data),)
        assert [q.text for q in await store.read(lambda it: files.text_files(it, inbox))] == [
            "früh"
        ]
        assert await store.read(lambda it: files.missing(it, inbox)) == (
            lost,
            MissingFile(name="a.bin"),
        )
