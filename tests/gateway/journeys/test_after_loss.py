"""Nothing is live of a time that a store has lost."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.backfill.missed_messages import may_be_answered
from gateway.client import Answer
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.gateway import Gateway
from gateway.interactions import Click
from gateway.missed import BEFORE_LOSS, CURSOR
from gateway.store.units import losses
from gateway.store.units.losses import add_loss
from tests.fakes.lost_records import copy_store, put_back
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import at
from tests.gateway.scripted import ScriptedTeams, ends, solo, until

pytestmark = pytest.mark.usefixtures("database")

KEY = ConversationKey(platform="chat", channel="C", root="1")
ANN, EVE = Author(id="chat:ann", name="Ann"), Author(id="chat:eve", name="Eve")


def said(text: str, at: float, **more: Any) -> InboundMessage:
    said = InboundMessage(key=KEY, author=ANN, text=text, message_id=text, dedupe=(text,), at=at)
    return replace(said, **more)


def gateway_on(folder: Path) -> Gateway:
    teams = ScriptedTeams(lambda: solo("yes", "yes", "yes"))
    return Gateway(new_store(folder), teams, access=Access(["chat:ann"]))


@asynccontextmanager
async def restored(folder: Path) -> AsyncGenerator[tuple[Gateway, float]]:
    """A gateway on a copy, and a time that it has lost."""
    copy = folder.parent / "copy"
    async with gateway_on(folder) as gateway:
        first = await gateway.accept(said("first", time.time()))
        await until(gateway, first.thread, ends)
        await gateway.marks.keep("chat", f"{CURSOR}session", "42")
        await gateway.marks.keep("chat", "heard", "1.0")
    await copy_store(folder, copy)  # in use, it would have a node that is to be given up first
    async with gateway_on(folder) as gateway:
        seq = (await gateway.client.thread(first.thread)).last_seq
        at = time.time()
        await gateway.accept(said("later", at))
        await until(gateway, first.thread, ends, seq)
    await put_back(folder, copy)
    async with gateway_on(folder) as gateway:
        assert [loss.cause for loss in await gateway.store.run(losses.losses)] == ["restored"]
        yield gateway, at


async def test_what_was_said_then_is_offered_and_answered_once_somebody_asks(tmp_path):
    async with restored(tmp_path / "store") as (gateway, at):
        later = said("later", at)
        receipts = [await gateway.accept(later), *await gateway.accept_missed([later])]
        assert [each.outcome for each in receipts] == ["offered", "offered"]
        assert await gateway.known_keys(["later"]) == set()
        thread = await gateway.conversations.thread_at(KEY)
        assert thread is not None
        assert thread.state == "idle"
        assert (await gateway.accept(said("first", at - 9))).outcome == "turn"  # it is known
        asked = await gateway.accept(replace(later, at=time.time()))
        assert (asked.outcome, asked.thread) == ("turn", thread.id)
        await until(gateway, thread.id, ends, thread.last_seq)


DONE: list[dict[str, Any]] = [
    {"event": "message", "text": "/new"},
    {"event": "message", "text": "!forget"},
    {"event": "command", "text": "/queue mode steer"},
    {"event": "command", "text": "a question that begins a thread"},
    {"event": "click", "click": Click(request="r1", answer=Answer(kind="approve"))},
    {"event": "message", "click": Click(request="r1", answer=Answer(kind="approve"))},
    {"event": "modal", "click": Click(request="r1", answer=Answer(kind="text", text="no"))},
    {"event": "stop", "text": "/stop"},
    {"event": "reaction", "text": "reacted"},
    {"event": "shortcut", "text": "What do you think?"},
]


async def test_what_was_done_then_is_told_in_a_sentence_and_changes_nothing(tmp_path):
    async with restored(tmp_path / "store") as (gateway, at):
        before = await gateway.conversations.thread_at(KEY)
        assert before is not None
        for n, done in enumerate(DONE):
            receipt = await gateway.accept(replace(said(f"done {n}", at), **done))
            assert (receipt.outcome, receipt.reply) == ("command", BEFORE_LOSS)
            assert await gateway.conversations.thread_at(KEY) == before
        again = await gateway.accept(replace(said("again", time.time()), text="/status"))
        assert again.reply.startswith("The team 'demo' is idle.")


async def test_edits_and_deletions_of_then_are_applied(tmp_path):
    async with restored(tmp_path / "store") as (gateway, at):
        created = (KEY.dedupe("create", "later"),)
        gone = (KEY.dedupe("delete", "later"),)
        await gateway.accept(said("later", at, event="delete", author=Author(id=""), dedupe=gone))
        asked = await gateway.accept(said("later", time.time(), dedupe=created))
        assert asked.outcome == "refused"  # it was deleted
        edit = said("edited", at, event="edit", message_id="first", dedupe=("edit",))
        edited = await gateway.accept(edit)
        assert edited.outcome == "merged"


async def test_what_is_for_others_or_of_strangers_is_not_offered(tmp_path):
    async with restored(tmp_path / "store") as (gateway, at):
        for more in ({"only_answers": True}, {"author": EVE}):
            receipt = await gateway.accept(said("later", at, **more))
            assert (receipt.outcome, receipt.reply) == ("refused", "")
        await gateway.accept(said("/mute", time.time()))
        assert (await gateway.accept(said("later", at))).outcome == "refused"
        assert (await gateway.accept(said("later", at, mentioned=True))).outcome == "offered"


async def test_cursors_are_gone_with_the_time_that_they_tell_of(tmp_path):
    async with restored(tmp_path / "store") as (gateway, _):
        assert await gateway.marks.read("chat") == {"heard": "1.0"}
        await gateway.marks.keep("chat", f"{CURSOR}session", "43")
    async with gateway_on(tmp_path / "store") as gateway:  # no loss: it stays
        assert await gateway.marks.read("chat", f"{CURSOR}session") == {f"{CURSOR}session": "43"}
        assert len(await gateway.store.run(losses.losses)) == 1


async def test_what_is_said_since_or_at_no_known_time_is_answered(tmp_path):
    async with restored(tmp_path / "store") as (gateway, _):
        for n, at in enumerate((time.time(), 0.0)):
            receipt = await gateway.accept(said(f"now {n}", at))
            assert receipt.outcome in ("turn", "queued")


async def test_a_loss_that_a_wrong_clock_has_dated_ahead_silences_nobody(tmp_path):
    store = new_store(tmp_path / "store", clock=lambda: time.time() + 86_400)
    async with store.own():
        now = store.clock()
        await store.write(lambda c: add_loss(at(c, now), "restored", since=1.0, commits=0))
    before = time.time()
    async with gateway_on(tmp_path / "store") as gateway:
        assert (await gateway.accept(said("before", before))).outcome == "offered"
        assert await may_be_answered(gateway.store, gateway.trust, before)
        assert (await gateway.accept(said("since", time.time()))).outcome == "turn"
        assert not await may_be_answered(gateway.store, gateway.trust, time.time())
