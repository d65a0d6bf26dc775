"""Missed messages: each taken for itself, joined by their turn."""

import itertools
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

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
from tests.fakes.decided import decided
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import AnyStore

pytestmark = pytest.mark.usefixtures("database")

KEY = ConversationKey(platform="x", root="1")
ANN, BOB = Author(id="ann", name="Ann"), Author(id="bob", name="Bob")


@asynccontextmanager
async def opened() -> AsyncGenerator[AnyStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        async with store.own():
            yield store


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


async def take(store: AnyStore, *messages: InboundMessage) -> None:
    await store.accept_all([decided(each, thread="t") for each in messages], lambda _: None)


async def turns(store: AnyStore) -> list[list[str]]:
    """The texts of each turn, worked off one after the other."""
    found: list[list[str]] = []
    while isinstance(work := await store.begin("t", "boot", words=MISSING), ClaimedTurn):
        found.append([each.text for each in work.messages])
        await store.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))
    return found


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([said(1), said(2), said(3)], [["Ann 1", "Ann 2", "Ann 3"]]),
        ([said(1), said(2, BOB), said(3)], [["Ann 1"], ["Bob 2"], ["Ann 3"]]),
        ([said(1), said(2), said(3, BOB), said(4, BOB)], [["Ann 1", "Ann 2"], ["Bob 3", "Bob 4"]]),
        ([said(1), said(2, missed=False), said(3)], [["Ann 1"], ["Ann 2"], ["Ann 3"]]),
        ([said(1, missed=False), said(2), said(3)], [["Ann 1"], ["Ann 2", "Ann 3"]]),
        ([said(3), said(1), said(2)], [["Ann 1", "Ann 2", "Ann 3"]]),
    ],
    ids=["one author", "between", "each", "live between", "live first", "written before"],
)
async def test_a_turn_takes_the_missed_messages_of_one_author_in_a_row(
    messages: Sequence[InboundMessage], expected: list[list[str]]
) -> None:
    async with opened() as store:
        await take(store, *messages)
        assert await turns(store) == expected


@pytest.mark.parametrize("seen", itertools.product(range(4), repeat=2))
async def test_a_missed_message_taken_live_meanwhile_hides_no_other(seen: tuple[int, int]) -> None:
    """Two of four are taken live: before catch-up, and after it."""
    before, after = seen
    async with opened() as store:
        await take(store, said(before, missed=False))
        await take(store, *(said(number) for number in range(4)))
        await take(store, said(after, missed=False))
        texts = list(itertools.chain(*await turns(store)))
        assert texts == [f"Ann {number}" for number in range(4)]


async def test_a_turn_waits_for_the_files_of_all_that_it_takes() -> None:
    file = AwaitedFile(name="plan.txt", media_type="text/plain")
    async with opened() as store:
        await take(store, said(1), said(2, awaited=(file,)), said(3, BOB, awaited=(file,)))
        delay = await store.begin("t", "boot", words=MISSING)
        assert isinstance(delay, TurnDelay)
        assert delay.seconds > AWAITED_SECONDS - 5


@pytest.mark.parametrize("mode", ["collect", "interrupt"])
async def test_a_thread_that_collects_takes_what_was_missed_with_the_rest(mode: str) -> None:
    async with opened() as store:
        await take(store, said(1), said(2, BOB), said(3))
        await store.write(lambda c: c.execute("UPDATE threads SET mode = :mode", {"mode": mode}))
        assert await turns(store) == [["Ann 1", "Bob 2", "Ann 3"]]
