"""Messages that were written while Parley was away, until their turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access, Admission
from gateway.conversation import (
    Attachment,
    Author,
    AwaitedFile,
    ConversationKey,
    InboundMessage,
    Quote,
    order_key,
)
from gateway.errors import NotFound
from gateway.events import MessageWithdrawn, TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.store.units import counts
from gateway.store.units.copies import broken_promises
from tests.fakes.new_store import new_store
from tests.gateway.content.test_attachments import png
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, of, solo, until

ANN = Author(id="x:ann", name="Ann")
KEY = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
PLAN = AwaitedFile(name="plan.txt", media_type="text/plain", size=9, ref="F1")


class Everybody(Access):
    def judge(self, message):
        return Admission()


class Office:
    """A gateway whose team waits at a door in its first turn."""

    def __init__(self, folder: Path, **limits) -> None:
        self.door = Door()
        self.client = model(calls("wait"), *["fine"] * 30)
        teams = ScriptedTeams(lambda: solo(self.client, tools=[self.wait]))
        self.gateway = Gateway(
            new_store(folder), teams, access=Everybody(), limits=Limits(**limits)
        )

    async def wait(self) -> str:
        """Wait."""
        await self.door.pass_through()
        return "ok"

    @property
    def heard(self) -> str:
        """The messages of the model's last call."""
        return str(self.client.create_calls[-1]["messages"])


def said(number: int, text: str, author: Author = ANN, **more) -> InboundMessage:
    ident = str(number)
    dedupe = more.pop("dedupe", (KEY.dedupe("create", ident),))
    return InboundMessage(
        key=KEY,
        author=author,
        text=text,
        message_id=ident,
        order_key=more.pop("order_key", order_key(ident)),
        dedupe=dedupe,
        **more,
    )


def begun(events: Sequence[Any]) -> list[list[str]]:
    """The texts with which each turn began."""
    return [[each.text for each in event.messages] for event in of(TurnStarted, events)]


async def test_an_edit_and_a_deletion_find_their_own_of_several_that_wait(tmp_path: Path) -> None:
    office = Office(tmp_path)
    async with office.gateway as gateway:
        thread = (await gateway.accept(said(1, "go"))).thread
        await office.door.reached.wait()
        await gateway.accept_missed([said(2, "first"), said(3, "secnd"), said(4, "third")])
        at = order_key("5")
        edit = KEY.dedupe("edit", "3", "5")
        await gateway.accept(said(3, "second", event="edit", order_key=at, dedupe=(edit,)))
        await gateway.accept(said(4, "", event="delete", dedupe=(KEY.dedupe("delete", "4"),)))
        office.door.open()
        events = await until(gateway, thread, ends)
        events += await until(gateway, thread, ends, events[-1].seq)
    assert begun(events) == [["go"], ["first", "second"]]
    assert len(of(MessageWithdrawn, events)) == 1
    assert "third" not in office.heard
    assert await new_store(tmp_path).read(broken_promises) == []


async def test_files_and_quotes_of_each_reach_the_team(tmp_path: Path) -> None:
    office = Office(tmp_path)
    photo = Attachment(name="photo.png", media_type="image/png", data=png())
    plan = Attachment(name="plan.txt", media_type="text/plain", data=b"buy bread")
    office.door.open()
    async with office.gateway as gateway:
        _, waits, _ = await gateway.accept_missed(
            [
                said(1, "look", attachments=(photo,)),
                said(2, "and read", awaited=(PLAN,)),
                said(3, "he says", quotes=(Quote(text="no bread today"),)),
            ]
        )
        await gateway.files.bring_files(waits.inbox, [plan], [])
        events = await until(gateway, waits.thread, ends)
    assert begun(events) == [["look", "and read", "he says"]]
    for text in ("look", "and read", "buy bread", "he says", "no bread today", "image/png"):
        assert text in office.heard


async def test_the_bounds_of_what_waits_refuse_nothing_silently(tmp_path: Path) -> None:
    office = Office(tmp_path, waiting_messages=2)
    async with office.gateway as gateway:
        thread = (await gateway.accept(said(1, "go"))).thread
        await office.door.reached.wait()
        missed = [said(number, f"<{number}>") for number in range(2, 25)]
        receipts = await gateway.accept_missed(missed)
        live = await gateway.accept(said(30, "one more"))
        refused = {each.reply for each in receipts if each.outcome == "refused"}
        assert [each.outcome for each in receipts] == ["queued"] * 20 + ["refused"] * 3
        assert refused == {
            "20 messages are already waiting here. Send yours again when some of them are done."
        }
        assert (live.outcome, live.reply) == ("refused", "")
        assert (await gateway.store.run(counts.counts)).refused == {"too many wait": 4}
        office.door.open()
        events = await until(gateway, thread, ends)
        await until(gateway, thread, ends, events[-1].seq)
    assert [office.heard.count(f"<{number}>") for number in range(2, 25)] == [1] * 20 + [0] * 3
    assert await new_store(tmp_path).read(broken_promises) == []


async def test_those_of_a_place_are_taken_all_or_none(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.door.open()
    async with office.gateway as gateway:
        with pytest.raises(NotFound):
            await gateway.accept_missed([said(1, "first"), said(2, "?", thread="not there")])
        assert await gateway.known_keys([KEY.dedupe("create", "1")]) == frozenset()
        receipts = await gateway.accept_missed([said(1, "first"), said(2, "second")])
        assert begun(await until(gateway, receipts[0].thread, ends)) == [["first", "second"]]
