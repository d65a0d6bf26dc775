"""The contract holds for the scripted platform: so it can be held."""

from dataclasses import dataclass, field

import pytest

from gateway.conversation import ConversationKey
from gateway.surface import (
    CallRejected,
    Card,
    Document,
    Line,
    OutcomeUnknown,
    Place,
    PlatformUnreachable,
    RateLimited,
)
from tests.contract.text_surface import TextSurfaceContract, VisibleMessage
from tests.fakes.scripted_surface import Board, Posted, Surface

PEOPLE = ("scripted:ann", "scripted:bob")


@dataclass
class ScriptedHarness:
    board: Board = field(default_factory=Board)
    people: tuple[str, str] = PEOPLE

    def __post_init__(self) -> None:
        self.surface = Surface(self.board)
        key = ConversationKey(platform="scripted", channel="C", root="1")
        self.place = Place(key=key, thread="t", asker=PEOPLE[0])

    async def seen(self) -> list[VisibleMessage]:
        return [_seen(posted) for posted in self.board.posted]

    async def busy(self) -> bool:
        return self.board.busy[-1:] == ["working"]

    async def title(self) -> str:
        return self.board.titles[-1]

    def limit_rate(self) -> None:
        self.board.fail("post", RateLimited(3.0))

    def lose_answer(self) -> None:
        self.board.fail("post", OutcomeUnknown(), "after")

    def break_down(self) -> None:
        self.board.fail("post", PlatformUnreachable())

    async def archive(self) -> None:
        self.board.fail("post", CallRejected("archived", gone=True))

    async def remove(self, message: str) -> None:
        self.board.posted = [each for each in self.board.posted if each.id != message]


def _seen(posted: Posted) -> VisibleMessage:
    content = posted.content
    text, pings, buttons, files = posted.text, frozenset[str](), (), ()
    match content:
        case Card(outcome=""):
            text += f" {content.request.tool} {content.request.arguments}"
            pings = frozenset(content.mentions)
            buttons = content.request.options or ("Approve", "Deny")
        case Line(mentions=mentions, command=command):
            pings, text = frozenset(mentions), f"{text} {command}"
        case Document():
            files = tuple((file.name, file.data) for file in content.files)
        case _:
            if getattr(content, "resuming", False):
                text += " (goes on)"
    return VisibleMessage(id=posted.id, text=text, pings=pings, buttons=buttons, files=files)


class TestTheContract(TextSurfaceContract):
    @pytest.fixture
    async def harness(self) -> ScriptedHarness:
        return ScriptedHarness()
