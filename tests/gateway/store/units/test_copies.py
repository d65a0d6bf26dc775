"""Each spent key has a row that holds its message."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.access.authority import Access
from gateway.app.stores import AnyStore
from gateway.config.routes import Route
from gateway.content.attachments import MISSING
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.inbound.policy import usual_rules
from gateway.store.decisions import AcceptedMessage, MessageRefusal, NewThread
from gateway.store.records import BrokenPromise
from gateway.store.rulebook import JudgedMessage
from gateway.store.turn_records import ClaimedTurn, TurnEnd, TurnUpdate
from gateway.store.units import claims, inbox
from gateway.store.units.copies import broken_promises
from tests.fakes.decided import decided
from tests.fakes.new_store import new_store

pytestmark = pytest.mark.usefixtures("database")

KEY = ConversationKey(platform="x", channel="c", root="1")
ANN = Author(id="ann", name="Ann")
EVERYBODY = Access(
    routes=[Route.model_validate({"adapter": "x", "channels": ["*"], "users": ["members"]})]
)


@asynccontextmanager
async def opened() -> AsyncGenerator[AnyStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        async with store.own():
            yield store


def said(number: int, *keys: str, text: str = "") -> InboundMessage:
    return InboundMessage(
        key=KEY,
        author=ANN,
        text=text or f"text {number}",
        message_id=str(number),
        dedupe=(KEY.dedupe("create", str(number)), *keys),
    )


async def take(store: AnyStore, message: InboundMessage) -> AcceptedMessage:
    judged = JudgedMessage(
        message=message,
        rulebook=usual_rules(message, EVERYBODY, now=0.0),
        new=NewThread(id="t", team="demo", definition=""),
        kind="message",
    )
    return await store.run(inbox.accept, judged)


async def texts(store: AnyStore) -> list[str]:
    """The texts that all turns were given."""
    found: list[str] = []
    while isinstance(
        work := await store.run(claims.begin, "t", "boot", words=MISSING), ClaimedTurn
    ):
        found += (each.text for each in work.messages)
        await store.record(work.lease, TurnUpdate(end=TurnEnd(status="done")))
    return found


async def test_deliveries_of_one_message_with_different_keys_are_one() -> None:
    async with opened() as store:
        for n, order in enumerate(itertools.permutations(["message", "mention", "history"])):
            keys = {
                "message": (f"event/{n}/1", f"client/{n}"),
                "mention": (f"event/{n}/2",),
                "history": (f"client/{n}",),
            }
            taken = [(await take(store, said(n, *keys[each]))).inbox for each in order]
            assert len(set(taken)) == 1
            assert await texts(store) == [f"text {n}"]
            assert await store.read(broken_promises) == []


async def test_a_message_with_a_key_of_another_is_not_known_while_its_text_is_nowhere() -> None:
    async with opened() as store:
        await take(store, said(1, "shared"))
        second = await take(store, said(2, "shared"))
        again = await take(store, said(2, "shared"))
        assert (second.outcome, again.decision, again.inbox) == ("queued", None, second.inbox)
        assert await texts(store) == ["text 1", "text 2"]
        assert await store.read(broken_promises) == []


async def test_a_deleted_message_with_a_key_of_another_does_not_come_back() -> None:
    async with opened() as store:
        await take(store, said(1, "shared"))
        deletion = InboundMessage(key=KEY, author=Author(id=""), event="delete", message_id="2")
        await take(store, deletion)
        late = await take(store, said(2, "shared"))
        assert late.decision == MessageRefusal(reason="deleted")
        assert await texts(store) == ["text 1"]


async def test_what_an_app_sends_twice_is_answered_once_and_its_copy_says_so() -> None:
    async with opened() as store:
        first = await take(store, said(1, "client/1", text="hello"))
        resent = await take(store, said(2, "client/1", text="hello"))
        assert resent.decision == MessageRefusal(reason="sent twice")
        assert (resent.outcome, resent.reply) == ("refused", "")
        assert resent.inbox != first.inbox
        assert await texts(store) == ["hello"]
        assert await store.read(broken_promises) == []


FAULTS = {
    "UPDATE dedupe SET inbox = :first WHERE inbox = :id": "it was spent with another message",
    "UPDATE inbox SET text = NULL WHERE id = :id": "the text of its message is gone",
    "UPDATE inbox SET outcome = 'refused' WHERE id = :id": (
        "its message was refused without a reason"
    ),
    "UPDATE inbox SET outcome = 'turn' WHERE id = :id": (
        "its message was taken by a turn that is gone"
    ),
}


@pytest.mark.parametrize("change", FAULTS)
async def test_a_key_whose_message_is_nowhere_is_found(change: str) -> None:
    async with opened() as store:
        first, second = [(await take(store, said(n))).inbox for n in (1, 2)]
        of_both = {"first": first, "id": second}
        of_both = {name: value for name, value in of_both.items() if f":{name}" in change}
        await store.write(lambda c: c.execute(change, of_both))
        (broken,) = await store.read(broken_promises)
        assert broken == BrokenPromise(
            key=KEY.dedupe("create", "2"), inbox=broken.inbox, thread="t", fault=FAULTS[change]
        )


async def test_a_refused_message_breaks_no_promise() -> None:
    async with opened() as store:
        refusal = MessageRefusal(reason="not allowed", reply="No.")
        await store.run(inbox.accept, decided(said(1), refusal, thread="t"))
        odd = InboundMessage(
            key=KEY, author=ANN, message_id="a/b", dedupe=(KEY.dedupe("create", "a/b"),)
        )
        await take(store, odd)
        assert await store.read(broken_promises) == []
