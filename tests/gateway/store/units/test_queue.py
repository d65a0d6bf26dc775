"""Waiting messages: their order, their files, taking back, and commands among them."""

import pytest

from gateway.app.stores import AnyStore
from gateway.conversation import (
    Attachment,
    AwaitedFile,
    ConversationKey,
    MissingFile,
    Quote,
    order_key,
)
from gateway.events import TurnStarted
from gateway.store.decisions import (
    CommandReply,
    FileArrival,
    MessageWithdrawal,
    ModeChange,
    NewConversation,
    QueuePromotion,
    QueueRemoval,
    ThreadDeletion,
)
from gateway.store.rulebook import SortedFiles
from gateway.store.units import claims, deletion, events, files, inbox, out_of_order, queue, threads
from gateway.values import value
from tests.fakes.new_store import is_on_postgres, new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import ANN, BOB, KEY, begin, begun, end, take

pytestmark = pytest.mark.usefixtures("database")

PLAN = AwaitedFile(name="plan.txt", media_type="text/plain", size=9, ref="F1")
IMAGE = Attachment(name="a.png", media_type="image/png", data=b"\x89png\0")
TEXT = Attachment(name="plan.txt", media_type="text/plain", data="früh".encode())
PROGRAM = Attachment(name="a.bin", media_type="application/y", data=b"")


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


async def test_a_conversation_has_one_current_thread(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        assert await store.run(threads.thread_at, KEY) is None
        await take(store, "waits", thread="one")
        fresh = await take(store, "/new", NewConversation(reply=""), thread="two", kind="command")
        assert (fresh.thread, fresh.lane) == ("two", "one")
        current = await store.run(threads.thread_at, KEY)
        assert current is not None
        assert (current.id, current.key) == ("two", KEY)
        assert await store.run(claims.begin, "one", "boot", words=None) is None  # type: ignore[arg-type]


async def test_a_forgotten_conversation_knows_how_far_it_was_deleted(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        assert await store.run(out_of_order.forgotten, KEY) == ""
        for number in ("1", "3", "2"):
            await take(store, number=number)
        forgets = ThreadDeletion(reply="")
        gone = await take(store, "/forget", forgets, thread="new", kind="command")
        assert gone.forgotten == "t"
        assert await store.run(out_of_order.forgotten, KEY) == order_key("3")
        assert await store.run(inbox.accepted_keys, [KEY.dedupe("create", "3")])


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
