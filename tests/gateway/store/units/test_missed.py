"""Missed messages: each taken for itself, joined by their turn."""

import itertools
from dataclasses import replace

import pytest

from gateway.app.stores import AnyStore
from gateway.content.attachments import MISSING
from gateway.conversation import (
    AWAITED_SECONDS,
    Author,
    AwaitedFile,
    ConversationKey,
    InboundMessage,
    order_key,
)
from gateway.store.turn_records import ClaimedTurn, TurnDelay, TurnEnd, TurnUpdate
from gateway.store.units import claims, inbox
from tests.fakes.decided import decided
from tests.fakes.new_store import new_store

pytestmark = pytest.mark.usefixtures("database")

KEY = ConversationKey(platform="x", root="1")
ANN, BOB = Author(id="ann", name="Ann"), Author(id="bob", name="Bob")


def said(number: int, author: Author = ANN, *, missed: bool = True, **more) -> InboundMessage:
    return InboundMessage(
        key=KEY,
        author=author,
        text=f"{author.name} {number}",
        message_id=str(number),
        order_key=order_key(str(number)),
        dedupe=(KEY.dedupe("create", str(number)),),
        missed=missed,
        **more,
    )


async def take(store: AnyStore, *messages: InboundMessage, thread: str = "t") -> None:
    """Accept messages together, in a conversation of the thread's name."""
    key = replace(KEY, channel=thread)
    moved = [
        replace(each, key=key, dedupe=(key.dedupe("create", each.message_id),)) for each in messages
    ]
    await store.run(inbox.accept_all, [decided(each, thread=thread) for each in moved])


async def turns(store: AnyStore, thread: str) -> list[list[str]]:
    """The texts of each turn, worked off one after the other."""
    found: list[list[str]] = []
    while isinstance(
        work := await store.run(claims.begin, thread, "boot", words=MISSING), ClaimedTurn
    ):
        found.append([each.text for each in work.messages])
        await store.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))
    return found


IN_A_ROW = {
    "one author": ([said(1), said(2), said(3)], [["Ann 1", "Ann 2", "Ann 3"]]),
    "between": ([said(1), said(2, BOB), said(3)], [["Ann 1"], ["Bob 2"], ["Ann 3"]]),
    "each": (
        [said(1), said(2), said(3, BOB), said(4, BOB)],
        [["Ann 1", "Ann 2"], ["Bob 3", "Bob 4"]],
    ),
    "live between": (
        [said(1), said(2, missed=False), said(3)],
        [["Ann 1"], ["Ann 2"], ["Ann 3"]],
    ),
    "live first": ([said(1, missed=False), said(2), said(3)], [["Ann 1"], ["Ann 2", "Ann 3"]]),
    "written before": ([said(3), said(1), said(2)], [["Ann 1", "Ann 2", "Ann 3"]]),
}


async def test_a_turn_takes_the_missed_messages_of_one_author_in_a_row(tmp_path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        for thread, (messages, expected) in IN_A_ROW.items():
            await take(store, *messages, thread=thread)
            assert (thread, await turns(store, thread)) == (thread, expected)


async def test_a_missed_message_taken_live_meanwhile_hides_no_other(tmp_path) -> None:
    """Two of four are taken live: before catch-up, and after it."""
    store = new_store(tmp_path)
    async with store.own():
        for before, after in itertools.product(range(4), repeat=2):
            thread = f"{before} {after}"
            await take(store, said(before, missed=False), thread=thread)
            await take(store, *(said(number) for number in range(4)), thread=thread)
            await take(store, said(after, missed=False), thread=thread)
            texts = list(itertools.chain(*await turns(store, thread)))
            assert texts == [f"Ann {number}" for number in range(4)], thread


@pytest.mark.usefixtures("told_at_once")
async def test_a_turn_waits_for_the_files_of_all_that_it_takes(tmp_path) -> None:
    file = AwaitedFile(name="plan.txt", media_type="text/plain")
    store = new_store(tmp_path)
    async with store.own():
        await take(store, said(1), said(2, awaited=(file,)), said(3, BOB, awaited=(file,)))
        delay = await store.run(claims.begin, "t", "boot", words=MISSING)
        assert isinstance(delay, TurnDelay)
        assert delay.seconds > AWAITED_SECONDS - 5


async def test_a_thread_that_collects_takes_what_was_missed_with_the_rest(tmp_path) -> None:
    store = new_store(tmp_path)
    async with store.own():
        for mode in ("collect", "interrupt"):
            await take(store, said(1), said(2, BOB), said(3), thread=mode)
            await store.write(
                lambda c, mode=mode: c.execute("UPDATE threads SET mode = :mode", {"mode": mode})
            )
            assert await turns(store, mode) == [["Ann 1", "Bob 2", "Ann 3"]]
