"""The contract of all text surfaces holds for Slack."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from adapters.slack.connection.payload import author_id
from adapters.slack.testing import (
    HOME,
    ConnectionReset,
    RealClock,
    RenderedMessage,
    TooManyRequests,
)
from gateway.surface import Place, TextSurface
from tests.adapters.slack.desk import Desk, at_desk
from tests.contract.text_surface import TextSurfaceContract, VisibleMessage

MENTION = re.compile(r"<@(\w+)>")
EVERYONE = re.compile(r"<!(?:here|channel|everyone|subteam)|@(?:here|channel|everyone)\b")
WRITES = ("chat.postMessage", "chat.startStream")


@dataclass
class SlackHarness:
    desk: Desk

    @property
    def surface(self) -> TextSurface:
        return self.desk.surface

    @property
    def place(self) -> Place:
        return self.desk.place

    @property
    def people(self) -> tuple[str, str]:
        alice, bob = (self.desk.slack.person(name) for name in ("alice", "bob"))
        return author_id(HOME, alice.id), author_id(HOME, bob.id)

    async def seen(self) -> list[VisibleMessage]:
        return [self._seen(shown) for shown in self.desk.messages()]

    async def busy(self) -> bool:
        return bool(self.desk.slack.busy)

    async def title(self) -> str:
        session = self.desk.slack.session("general", self.desk.asked)
        return session.title if session else ""

    def limit_rate(self) -> None:
        self.desk.slack.fail("chat.postMessage", TooManyRequests(30))

    def lose_answer(self) -> None:
        self.desk.slack.fail("chat.postMessage", ConnectionReset(applied=True))

    def break_down(self) -> None:
        self.desk.slack.fail("chat.postMessage", ConnectionReset())

    async def archive(self) -> None:
        self.desk.slack.channel("general").archived = True

    async def remove(self, message: str) -> None:
        self.desk.slack.channel("general").messages[message].hidden = True

    def _seen(self, shown: RenderedMessage) -> VisibleMessage:
        text = f"{shown.name}: {shown.text}"
        sent = str(shown.blocks or shown.fallback)
        pings = {author_id(HOME, user) for user in MENTION.findall(sent)}
        if EVERYONE.search(sent) and "rich_text" not in sent:
            pings.add("everyone")
        stored = self.desk.slack.channel("general").messages[shown.ts].files
        files = tuple((file.title, file.data) for file in stored)
        return VisibleMessage(
            id=shown.ts, text=text, pings=frozenset(pings), buttons=shown.buttons, files=files
        )


class TestTheContract(TextSurfaceContract):
    @pytest.fixture
    async def harness(self) -> AsyncGenerator[SlackHarness]:
        async with at_desk(clock=RealClock()) as desk, desk.surface.maintained():
            desk.slack.person("bob")
            yield SlackHarness(desk)
