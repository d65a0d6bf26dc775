"""Calls that would change nothing are not made."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from gateway.base.clock import WallClock
from gateway.conversation import ConversationKey
from gateway.delivery.items import DesiredMessage
from gateway.delivery.sender import Sender, SendSuccess
from gateway.outbox import Outbox, OutboxRow
from gateway.surface import (
    CallRejected,
    Content,
    Part,
    Place,
    PlatformUnreachable,
    Speech,
    TextLimits,
)
from tests.fakes.tested_store import NamedOperations

PLACE = Place(key=ConversationKey(platform="quiet"), thread="t")
ROW = OutboxRow(
    key="k", thread="t", place="p", item="i", n=0, seq=1, status="pending", first_at=0, at=0
)


class Kept(NamedOperations):
    """An outbox that keeps rows in memory."""

    def __init__(self) -> None:
        self.rows: list[OutboxRow] = []

    async def put_part(self, row: OutboxRow) -> None:
        self.rows.append(row)


class PlainSurface:
    """A surface without `rendered`."""

    platform = people = "quiet"
    limits = TextLimits(message=100)

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails: list[Exception] = []

    def neutral(self, text: str) -> str:
        return text

    def length(self, text: str) -> int:
        return len(text)

    async def post(self, place: Place, part: Part) -> str:
        self._call(part)
        return "m"

    async def edit(self, place: Place, message: str, part: Part) -> None:
        self._call(part)

    async def remove(self, place: Place, message: str) -> None:
        self.calls.append("removed")

    def _call(self, part: Part) -> None:
        if self.fails:
            raise self.fails.pop()
        self.calls.append(looks(part))


class QuietSurface(PlainSurface):
    """A surface that shows dots where a text is said anew."""

    def rendered(self, part: Part) -> str:
        return looks(part)


def looks(part: Part) -> str:
    """A part as people see it."""
    content = part.content
    assert isinstance(content, Speech)
    return f"{content.text}{'...' if content.resuming else ''}{'?' if part.unsure else ''}"


def said(text: str, *, growing: bool = False, resuming: bool = False) -> DesiredMessage:
    """A piece of a text."""
    content = Speech(agent="ann", text=text, growing=growing, resuming=resuming)
    return DesiredMessage(n=0, content=content, lasting=not growing and not resuming)


LEFT_OVER = replace(said("one"), left_over=True)


class Sent:
    """A sender with one message, piece after piece."""

    def __init__(self, surface: PlainSurface) -> None:
        self.surface, self.kept, self.row = surface, Kept(), ROW
        self._sender = Sender(cast("Outbox", self.kept), surface, WallClock())

    async def send(self, *parts: DesiredMessage) -> None:
        for part in parts:
            content: Content = part.content
            send = self._sender.post if self.row.status == "pending" else self._sender.edit
            outcome = await send(PLACE, self.row, part, content)
            if isinstance(outcome, SendSuccess):
                self.row = outcome.row


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        ([said("one", growing=True), said("one")], ["one"]),
        ([said("one", growing=True), said("one", growing=True), said("one")], ["one"]),
        ([said("one", growing=True), said("one two")], ["one", "one two"]),
        ([said("one", resuming=True), said("one")], ["one...", "one"]),
        ([said("one", growing=True), LEFT_OVER], ["one", "removed"]),
        ([said("one"), said("one")], ["one", "one"]),
    ],
    ids=["ends", "nothing new", "more", "marked", "left over", "not known any more"],
)
async def test_what_looks_the_same_is_not_edited(
    parts: list[DesiredMessage], calls: list[str]
) -> None:
    sent = Sent(QuietSurface())
    await sent.send(*parts)
    assert sent.surface.calls == calls
    assert sent.row.digest == parts[-1].digest  # nothing is left to be done


@pytest.mark.parametrize("failure", [PlatformUnreachable("gone"), CallRejected("too old")])
async def test_after_a_failed_edit_nothing_is_known(failure: Exception) -> None:
    sent = Sent(QuietSurface())
    await sent.send(said("one", growing=True))
    sent.surface.fails = [failure]
    await sent.send(said("one two", growing=True), said("one"))
    assert sent.surface.calls == ["one", "one"]


async def test_a_message_that_is_unsure_looks_so() -> None:
    sent = Sent(QuietSurface())
    await sent.send(said("one", growing=True))
    sent.row = replace(sent.row, unsure=True)
    await sent.send(said("one"))
    assert sent.surface.calls == ["one", "one?"]


async def test_a_surface_without_looks_is_asked_every_time() -> None:
    sent = Sent(PlainSurface())
    await sent.send(said("one", growing=True), said("one"))
    assert sent.surface.calls == ["one", "one"]
