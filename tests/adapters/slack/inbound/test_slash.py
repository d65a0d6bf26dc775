"""The slash command: begins a thread with its text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from adapters.slack.inbound.parsed import Draft
from adapters.slack.inbound.slash import (
    IN_ITS_THREAD,
    NOT_HERE,
    NOT_STORED,
    Once,
    SlashCommands,
    not_here,
)
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import StoreFull
from gateway.surface import CallRejected

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1")
MESSAGE = InboundMessage(key=KEY, author=Author(id="slack:T1:U1"), dedupe=("k1",))
DRAFT = Draft(message=MESSAGE, user="U1")


@dataclass
class Host:
    """A gateway that takes everything."""

    known: set[str] = field(default_factory=set)
    ignored: Counter[str] = field(default_factory=Counter)
    taken: list[InboundMessage] = field(default_factory=list)
    full: bool = False

    @property
    def health(self) -> Any:
        async def probe() -> None:
            if self.full:
                raise StoreFull

        return SimpleNamespace(
            count_ignored=lambda reason: self.ignored.update([reason]), probe=probe
        )

    async def known_keys(self, keys: list[str]) -> set[str]:
        return self.known & {*keys}

    async def judge(self, message: InboundMessage) -> InboundMessage:
        ruling: Any = SimpleNamespace(may_write=True)
        return InboundMessage(
            key=message.key, author=message.author, dedupe=message.dedupe, ruling=ruling
        )

    async def accept(self, message: InboundMessage) -> Any:
        self.taken.append(message)
        return SimpleNamespace(reply=f"took {message.text}")


class Drafts:
    """Reads texts as they are."""

    commands = frozenset({"stop", "help", "memory"})

    async def with_author(self, draft: Draft) -> InboundMessage:
        return draft.message

    async def plain(self, team: str, text: str) -> str:
        return text


class Calls:
    """Slack, in which something is posted."""

    def __init__(self) -> None:
        self.posted: list[str] = []

    async def write(self, team: str, method: str, **arguments: Any) -> Any:
        self.posted.append(arguments["text"])
        return {"ts": "5.0"}


def commands(host: Host) -> tuple[SlashCommands, Calls]:
    calls = Calls()
    made = SlashCommands(
        cast("Any", host),
        cast("Any", calls),
        cast("Any", Drafts()),
        "/ask",
        Once(cast("Any", host)),
    )
    return made, calls


async def test_a_question_begins_a_thread_under_its_authors_name() -> None:
    host = Host()
    slash, calls = commands(host)
    assert await slash.answer(DRAFT, "What is for lunch?") == "took What is for lunch?"
    assert calls.posted == ["<@U1> asks:\n>>> What is for lunch?"]
    [taken] = host.taken
    assert (taken.key.root, taken.message_id) == ("5.0", "5.0")


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("stop", IN_ITS_THREAD.format(name="stop")),
        ("memory forget 3", "took /memory forget 3"),
        ("stpo", "There is no command 'stpo'"),
        ("", "Type /ask and your question"),
    ],
)
async def test_a_command_is_answered_where_it_can_be(text: str, reply: str) -> None:
    slash, calls = commands(Host())
    assert (await slash.answer(DRAFT, text)).startswith(reply)
    assert calls.posted == []


async def test_an_action_that_was_taken_already_begins_nothing() -> None:
    host = Host(known={"k1"})
    once = Once(cast("Any", host))
    async with once.begins(MESSAGE) as begins:
        assert not begins
    host.known.clear()
    async with once.begins(MESSAGE) as begins, once.begins(MESSAGE) as again:
        assert (begins, again) == (True, False)
    assert host.ignored["already taken"] == 2


async def test_nothing_is_posted_that_could_not_be_stored() -> None:
    slash, calls = commands(Host(full=True))
    assert await slash.answer(DRAFT, "What is for lunch?") == NOT_STORED
    assert calls.posted == []


def test_who_asked_is_told_why_nothing_can_be_written() -> None:
    assert not_here(CallRejected("no", obstacle="absent")) == NOT_HERE
    assert not_here(CallRejected("no", obstacle="archived")).startswith("I can't write here: ")
