"""Messages are taken once, in their platform's order, each with one outcome."""

import asyncio
import random
import tempfile
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.content.attachments import MISSING
from gateway.conversation import Attachment, Author, ConversationKey, InboundMessage, order_key
from gateway.errors import NotFound
from gateway.events import Notice
from gateway.store.decisions import MessageRefusal, ModeChange, QueueEntry
from gateway.store.turn_records import ClaimedTurn, TurnEnd, TurnUpdate
from gateway.store.units import claims, inbox, joining, threads
from gateway.store.units import events as event_units
from tests.fakes.decided import decided
from tests.fakes.new_store import new_store

pytestmark = pytest.mark.usefixtures("database")

KEY = ConversationKey(platform="x", root="1")
ANN, BOB = Author(id="ann", name="Ann"), Author(id="bob", name="Bob")


@asynccontextmanager
async def store():
    with tempfile.TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        async with store.own():
            yield store


async def send(
    store, text="hi", *dedupe, author=ANN, mark="", decision=None, key=KEY, new="t", **more
):
    message = InboundMessage(
        key=key,
        author=author,
        text=text,
        dedupe=dedupe,
        order_key=order_key(mark) if mark else "",
        **more,
    )
    judged = decided(message, decision or QueueEntry(), thread=new)
    return await store.run(inbox.accept, judged)


async def work_off(store, thread="t"):
    """Run all turns of the thread; the texts they began with."""
    texts = []
    while (work := await store.run(claims.begin, thread, "boot", words=MISSING)) is not None:
        texts.append(work.messages[-1].text)
        await store.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))
    return texts


async def test_any_interleaving_of_duplicates_yields_one_of_each(tmp_path):
    kept = new_store(tmp_path)
    async with kept.own():
        for seed in range(8):
            await deliver_in_disorder(kept, f"t{seed}", random.Random(seed))


async def deliver_in_disorder(kept, thread: str, chance: random.Random) -> None:
    order, together = [n for n in range(8) for _ in range(3)], chance.randint(1, 6)
    chance.shuffle(order)
    key, receipts = replace(KEY, root=thread), {}

    async def deliver(n: int):
        keys = (f"{thread}/{n}", f"{thread}/other/{n}")
        return await send(kept, str(n), *keys, key=key, new=thread)

    for start in range(0, len(order), together):
        numbers = order[start : start + together]
        for n, accepted in zip(numbers, await asyncio.gather(*map(deliver, numbers)), strict=True):
            receipts.setdefault(n, set()).add(accepted.inbox)
    assert all(len(inboxes) == 1 for inboxes in receipts.values())
    assert sorted(await work_off(kept, thread)) == [str(n) for n in range(8)]


async def test_one_known_key_is_enough_and_the_other_keys_are_spent_with_it():
    async with store() as kept:
        first = await send(kept, "hi", "socket/1")
        again = await send(kept, "hi", "socket/1", "poll/1")
        polled = await send(kept, "hi", "poll/1")
        assert first.inbox == again.inbox == polled.inbox
        assert [a.decision is None for a in (first, again, polled)] == [False, True, True]


async def test_an_edit_and_its_message_are_two_events():
    async with store() as kept:
        await send(kept, "hi", KEY.dedupe("create", "1"))
        for at in ("2", "3", "3"):
            await send(kept, f"edited {at}", KEY.dedupe("edit", "1", at))
        assert await work_off(kept) == ["hi", "edited 2", "edited 3"]


async def test_messages_run_in_the_platforms_order_and_a_straggler_is_flagged():
    async with store() as kept:
        await send(kept, "second", mark="2.5")
        await send(kept, "third", mark="10")
        await send(kept, "first", mark="1")
        await send(kept, "from the terminal")
        texts = [(await begin_and_end(kept)) for _ in range(2)]
        late = await send(kept, "late", mark="2")
        texts += await work_off(kept)
        rows = await kept.write(lambda c: c.fetch("SELECT id FROM inbox WHERE straggler"))
    assert texts == ["first", "second", "late", "third", "from the terminal"]
    assert [row["id"] for row in rows] == [late.inbox]


async def begin(store) -> ClaimedTurn:
    work = await store.run(claims.begin, "t", "boot", words=MISSING)
    assert isinstance(work, ClaimedTurn)
    return work


async def begin_and_end(store):
    work = await begin(store)
    await store.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))
    return work.messages[-1].text


async def test_a_refused_message_leaves_neither_text_nor_thread():
    async with store() as kept:
        accepted = await send(
            kept, "secret", "1", decision=MessageRefusal(reason="no", reply="Go away.")
        )
        again = await send(kept, "secret", "1")
        assert (accepted.outcome, accepted.reply) == (again.outcome, again.reply)
        assert accepted.outcome == "refused"
        assert await kept.run(threads.threads) == []
        rows = await kept.write(lambda c: c.fetch("SELECT text FROM inbox"))
    assert [row["text"] for row in rows] == [None]


async def test_a_message_whose_decision_fails_spends_no_key():
    async with store() as kept:
        with pytest.raises(NotFound):
            await send(kept, "hi", "1", thread="no such thread")
        assert (await send(kept, "hi", "1")).decision == QueueEntry()


async def test_a_thread_knows_whether_it_is_shared():
    async with store() as kept:
        await send(kept, "a")
        work = await begin(kept)
        assert not work.shared
        await kept.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))
        await send(kept, "no", author=BOB, decision=MessageRefusal(reason="no"))
        await send(kept, "b")
        work = await begin(kept)
        assert not work.shared
        await kept.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))
        await send(kept, "c", author=BOB)
        work = await begin(kept)
    assert work.shared
    assert work.asker.id == "bob"


async def test_a_turn_gets_the_images_of_its_message():
    files = (
        Attachment(name="a.png", media_type="image/png", data=b"png"),
        Attachment(name="b.pdf", media_type="application/pdf", data=b"pdf"),
    )
    async with store() as kept:
        await send(kept, "look", attachments=files)
        work = await begin(kept)
    assert work.messages[0].images == (("image/png", b"png"),)


async def test_the_first_message_is_the_title():
    async with store() as kept:
        await send(kept, "  A question\nabout many " + "long " * 40)
        title = (await kept.run(threads.thread, "t")).title
    assert title.startswith("A question about many long")
    assert len(title) <= 60
    assert title.endswith("\u2026")


async def test_what_joined_a_turn_that_was_stopped_before_its_team_had_it_is_the_next_ones():
    async with store() as kept:
        await send(kept, "first")
        work = await begin(kept)
        await send(kept, decision=ModeChange(mode="steer", reply=""))
        await send(kept, "second")
        joined = await kept.run(joining.join, work.lease)
        assert [message.text for message in joined.messages] == ["second"]
        given, end = (work.messages[0].inbox,), TurnEnd(status="stopped")
        await kept.record(work.lease, TurnUpdate(joined=given, end=end))
        await send(kept, "third")
        work = await begin(kept)
    assert [message.text for message in work.messages] == ["second", "third"]


async def test_however_many_events_a_record_has_they_are_stored_in_their_order():
    said = [str(number) for number in range(7000)]
    async with store() as kept:
        await send(kept)
        work = await begin(kept)
        record = TurnUpdate(events=tuple(Notice(thread="t", text=text) for text in said))
        events = (await kept.record(work.lease, record)).events
        stored = await kept.run(event_units.events, "t", after=events[0].seq - 1, limit=9000)
        last = (await kept.run(threads.thread, "t")).last_seq
    assert stored == [*events]
    assert [event.text for event in stored if isinstance(event, Notice)] == said
    assert stored[-1].seq == last


async def test_what_was_said_lately_is_the_newest_of_the_threads_used_last() -> None:
    now = 1000.0

    async def say(kept, workspace, root, number):
        nonlocal now
        now += 10.0
        key = ConversationKey(platform="x", workspace=workspace, channel="c", root=root)
        message = InboundMessage(
            key=key, author=ANN, text="hi", message_id=number, order_key=order_key(number)
        )
        await kept.run(inbox.accept, decided(message, thread=f"{workspace}{root}"))

    with tempfile.TemporaryDirectory() as folder:
        kept = new_store(Path(folder), clock=lambda: now)
        async with kept.own():
            for root, number in [("old", "1"), ("a", "2"), ("a", "4"), ("a", "3"), ("b", "5")]:
                await say(kept, "w", root, number)
            await say(kept, "w2", "a", "6")
            work = await kept.run(claims.begin, "wold", "boot", words=MISSING)
            assert isinstance(work, ClaimedTurn)
            now = 5000.0
            await say(kept, "w", "b", "7")
            lately = await kept.run(threads.recent_messages, "x", "w", 4000.0, threads=2, each=2)
    # "old" is left out: nothing waits there any more. What waits counts however old it is.
    assert [(each.key.root, each.message_id) for each in lately] == [
        ("a", "3"),
        ("a", "4"),
        ("b", "5"),
        ("b", "7"),
    ]
