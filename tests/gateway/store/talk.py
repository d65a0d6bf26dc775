"""Messages to a store, and turns of it, without a gateway."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.app.stores import AnyStore
from gateway.content.attachments import MISSING
from gateway.conversation import Author, ConversationKey, InboundMessage, order_key
from gateway.store.decisions import AcceptedMessage, Decision, QueueEntry
from gateway.store.records import InboxKind, Request
from gateway.store.rulebook import RecoveryWords
from gateway.store.turn_records import ClaimedTurn, StoredUpdate, TurnEnd, TurnUpdate
from gateway.store.units import claims, inbox, recovery
from tests.fakes.decided import decided
from tests.fakes.new_store import is_on_postgres
from tests.fakes.tested_store import rows_of

KEY = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
ANN, BOB = Author(id="x:T1:ann", name="Ann"), Author(id="x:T1:bob", name="Bob")
WAITS = QueueEntry()


def place(root: str) -> ConversationKey:
    """Another conversation of the channel."""
    return replace(KEY, root=root)


async def take(
    store: AnyStore,
    text: str = "hi",
    decision: Decision = WAITS,
    *,
    author: Author = ANN,
    thread: str = "t",
    key: ConversationKey = KEY,
    number: str = "",
    kind: InboxKind = "message",
    **more: Any,
) -> AcceptedMessage:
    """Accept a message; `number` is its id and its order."""
    if number:
        more["dedupe"], more["message_id"] = (key.dedupe("create", number),), number
        more["order_key"] = order_key(number)
    message = InboundMessage(key=key, author=author, text=text, **more)
    judged = replace(decided(message, decision, thread=thread), kind=kind)
    return await store.run(inbox.accept, judged)


async def begin(store: AnyStore, thread: str = "t", boot: str = "boot") -> ClaimedTurn:
    """The thread's next turn."""
    work = await store.run(claims.begin, thread, boot, words=MISSING)
    assert isinstance(work, ClaimedTurn)
    return work


async def begun(store: AnyStore, text: str = "hi", **more: Any) -> ClaimedTurn:
    """The turn of a new message."""
    accepted = await take(store, text, **more)
    return await begin(store, accepted.thread)


async def end(
    store: AnyStore, work: ClaimedTurn, status: Any = "done", **more: Any
) -> StoredUpdate:
    """End a turn, with more to store."""
    return await store.record(work.lease, TurnUpdate(end=TurnEnd(status=status), **more))


def approval(work: ClaimedTurn, request: str = "r1", **more: Any) -> Request:
    """A request that a turn makes of its asker."""
    values: dict[str, Any] = {
        "engine_id": f"engine {request}",
        "kind": "approval",
        "agent": ("team", "solo"),
        "prompt": "May I?",
        "asked_at": 100.0,
        "tool": "send",
        "arguments": "{}",
        "arguments_hash": "hash",
        "call": "call",
        "asker": work.asker.id,
    }
    lease = work.lease
    return Request(id=request, thread=lease.thread, turn=lease.turn, **{**values, **more})


async def jobs_of(store: AnyStore) -> list[tuple[str, str]]:
    """Threads that wait for a node, and on whose behalf."""
    query = "SELECT lock, args ->> 'person' FROM procrastinate_jobs WHERE status = 'todo'"
    return [(thread, person) for thread, person in await rows_of(store, f"{query} ORDER BY id")]


async def left_by(store: AnyStore, boot: str, words: RecoveryWords) -> list[tuple[str, str]]:
    """Threads with something to do, and on whose behalf, after a start.

    Where there are nodes, that is their jobs.
    """
    left = await store.run(recovery.recover, boot, words)
    if is_on_postgres():
        return await jobs_of(store)
    return [(each.thread, each.person) for each in left]
