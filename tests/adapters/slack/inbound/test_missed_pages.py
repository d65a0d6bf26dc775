"""Slack's history in pages: lists of channels, channels and threads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.slack.connection.rate_limits import CONVERSATIONS, HISTORY, REPLIES
from adapters.slack.connection.web_api import Refusal
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.history import HistoryExcerpt
from adapters.slack.inbound.missed_pages import OLDER, Reading, SlackHistory
from adapters.slack.inbound.parsed import Draft
from gateway.client import Receipt
from gateway.conversation import AwaitedFile, ConversationKey, InboundMessage
from gateway.history import Found, OfferCard
from gateway.missed import OpenGap
from gateway.surface import CallRejected, PlatformUnreachable, RateLimited
from tests.fakes.hand_clock import HandClock

ME = Workspace(id="T1", url="https://home.slack.com/", user="UBOT", bot="BBOT")
TEAM = ConversationKey(platform="slack", workspace="T1")
CHANNEL = replace(TEAM, channel="C1")
THREAD = replace(CHANNEL, root="900.000000")
CARD = OfferCard(place=THREAD, id="905.000000", first="901.000000")
SAID = {"type": "message", "user": "U1", "text": "hi", "ts": "901.000000"}


def gap(place: ConversationKey, **more: Any) -> OpenGap:
    values: dict[str, Any] = {"id": 1, "since": 800.0, "until": 950.0, "returned": 950.0, **more}
    return OpenGap(place=place, **values)


@dataclass
class Slack:
    """Slack's answers, and what was written there."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    written: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    clients: Any = field(default_factory=lambda: SimpleNamespace(account="slack", workspaces=[ME]))

    @property
    def calls(self) -> Slack:
        return self

    async def read_in_turn(self, team: str, method: str, **arguments: Any) -> Any:
        self.asked.append((method, arguments))
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def write(self, team: str, method: str, **arguments: Any) -> Any:
        self.written.append((method, arguments))
        return {"ts": "906.000000"}


@dataclass
class Drafts:
    """Takes each draft as it is, if it is for the team."""

    meant: bool = True

    def me(self, team: str) -> Workspace:
        return ME

    async def is_meant(self, draft: Draft, *, joined: bool = False) -> bool:
        return self.meant

    async def judged(self, draft: Draft) -> InboundMessage:
        return replace(draft.message, text="judged")

    async def message(self, draft: Draft, *, first: bool = False) -> InboundMessage:
        return replace(draft.message, text=f"whole {first}")


class Threads:
    """Reads one message of a thread."""

    def __init__(self) -> None:
        self.found: HistoryExcerpt | None = HistoryExcerpt((SAID,), whole=True)

    async def read(self, key: ConversationKey, *, after: str) -> HistoryExcerpt | None:
        return self.found


class Backfill:
    """Knows one thread of a channel."""

    def __init__(self, *roots: str) -> None:
        self.roots = roots

    async def known_threads(self, place: ConversationKey, *, before: str, limit: int) -> list[Any]:
        found = [root for root in self.roots if float(root) < float(before)]
        return [SimpleNamespace(place=replace(place, root=root)) for root in found[-1:]]


@dataclass
class Scene:
    """A history, and what it is read with."""

    slack: Slack = field(default_factory=Slack)
    drafts: Drafts = field(default_factory=Drafts)
    threads: Threads = field(default_factory=Threads)
    told: list[str] = field(default_factory=list)
    known: tuple[str, ...] = ()

    @property
    def history(self) -> SlackHistory:
        async def look() -> None:
            self.told.append("looked for files")

        async def send(draft: Draft, reply: str) -> None:
            self.told.append(reply)

        host = SimpleNamespace(
            backfill=lambda history: Backfill(*self.known),
            policy=SimpleNamespace(serves=lambda *_: True),
            health=SimpleNamespace(remark=lambda account, text: self.told.append(text)),
            limits=SimpleNamespace(missed=SimpleNamespace(offer=50.0)),
        )
        reading: Any = {
            "host": host,
            "rates": self.slack,
            "drafts": self.drafts,
            "threads": self.threads,
            "fetching": SimpleNamespace(look=look),
            "replies": SimpleNamespace(send=send),
        }
        return SlackHistory(Reading(**reading), HandClock())


async def said() -> Found[Draft]:
    """A message as a page has it."""
    scene = Scene()
    scene.slack.answers[REPLIES] = {"messages": [SAID]}
    [each] = (await scene.history.read_page(gap(THREAD))).said
    assert isinstance(each, Found)
    return each


def test_all_workspaces_of_the_app_are_read() -> None:
    assert Scene().history.workspaces() == ["T1"]


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (Refusal("missing_scope", "no"), True),
        (CallRejected("no", gone=True), True),
        (PlatformUnreachable("no"), False),
    ],
)
def test_a_read_that_slack_refuses_again_is_final(error: Any, final: bool) -> None:
    assert Scene().history.is_final(error) is final


async def test_a_list_of_channels_names_those_that_the_bot_is_in() -> None:
    scene = Scene()
    scene.slack.answers[CONVERSATIONS] = {
        "channels": [{"id": "C1", "created": 900}],
        "response_metadata": {"next_cursor": "n"},
    }
    page = await scene.history.read_page(gap(TEAM))
    assert (page.cursor, page.further) == ("list:n", {CHANNEL: 900.0})


async def test_a_channel_has_messages_and_threads_that_went_on() -> None:
    scene = Scene(known=("700.000000",))
    root = {**SAID, "ts": "890.000000", "thread_ts": "890.000000", "latest_reply": "920.000000"}
    scene.slack.answers[HISTORY] = {"messages": [SAID, root]}
    page = await scene.history.read_page(gap(CHANNEL))
    assert [each.id for each in page.said if isinstance(each, Found)] == ["901.000000"]
    assert page.further == {
        replace(CHANNEL, root="890.000000"): 920.0,
        replace(CHANNEL, root=OLDER): 700.0,
    }


async def test_older_threads_are_read_from_a_known_one_on_down() -> None:
    scene = Scene(known=("600.000000", "700.000000"))
    root = {**SAID, "ts": "700.000000", "thread_ts": "700.000000", "latest_reply": "920.000000"}
    scene.slack.answers[HISTORY] = {"messages": [root]}
    page = await scene.history.read_page(gap(replace(CHANNEL, root=OLDER)))
    assert page.cursor == "600.000000"
    assert page.further == {replace(CHANNEL, root="700.000000"): 920.0}


async def test_a_thread_is_read_in_its_order_and_a_gone_channel_not_at_all() -> None:
    scene = Scene()
    scene.slack.answers[REPLIES] = {"messages": [SAID, {**SAID, "ts": "799.000000"}]}
    page = await scene.history.read_page(gap(THREAD))
    assert ([each.id for each in page.said if isinstance(each, Found)], page.cursor) == (
        ["901.000000"],
        None,
    )
    scene.slack.answers[REPLIES] = CallRejected("no", gone=True)
    assert not (await scene.history.read_page(gap(THREAD))).said


async def test_a_message_is_judged_completed_and_edited() -> None:
    page = await said()
    scene = Scene()
    prepared = await scene.history.prepare(page, joined=False)
    assert prepared is not None
    assert prepared.text == "judged"
    whole = await scene.history.complete(prepared, page.said, first=True)
    assert whole.text == "whole True"
    edited = await scene.history.edit(replace(page, edited=903.0))
    assert edited is not None
    assert edited.event == "edit"
    scene.drafts.meant = False
    assert await scene.history.prepare(page, joined=False) is None
    assert await scene.history.edit(page) is None


async def test_an_author_is_sent_a_reply_and_files_are_fetched() -> None:
    page = await said()
    scene = Scene()
    file = AwaitedFile(name="a.txt", media_type="text/plain")
    message = replace(page.said.message, awaited=(file,))
    receipt = Receipt(inbox=1, thread="t", outcome="refused", reply="Not allowed.")
    await scene.history.tell(message, page.said, receipt)
    assert scene.told == ["looked for files", "Not allowed."]


async def test_a_card_is_posted_read_and_settled() -> None:
    scene = Scene()
    history = scene.history
    assert await history.offer(CARD, THREAD, "3 messages were missed.") == "906.000000"
    await history.settle(CARD, "They are being answered.")
    assert [method for method, _ in scene.slack.written] == ["chat.postMessage", "chat.update"]
    assert "900.999999" in str(scene.slack.written[0])
    page = await history.offered(CARD, "")
    assert len(page.said) == 1
    scene.threads.found = None
    with pytest.raises(RateLimited):
        await history.offered(CARD, "")
