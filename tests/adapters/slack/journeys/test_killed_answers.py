"""kill -9 after unheard answers: nothing is lost, doubles are marked."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import (
    HOME,
    ConnectionReset,
    Delay,
    RealClock,
    Refusal,
    RenderedMessage,
    SlackSimulator,
)
from gateway.conversation import ConversationKey
from tests.adapters.slack.child import WORDS
from tests.fakes.forked import fork

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(200)]

ROOT = Path(__file__).resolve().parents[4]
NEVER = 100_000.0
MARK = "may appear twice"
NOTICE = "The answer was interrupted."


class Process:
    """A gateway of its own process."""

    def __init__(self, slack: SlackSimulator, folder: Path, asked: Message) -> None:
        key = ConversationKey(
            platform="slack", workspace=HOME, channel=asked.channel, root=asked.root
        )
        user = slack.person("alice").id
        arguments = [slack.api_url, slack.bot_token, str(folder), str(key), user]
        self._process = fork(
            *("tests.adapters.slack.child", *arguments),
            folder=ROOT,
            environment={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)},
            log=folder / "log",
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """As kill -9 does: it takes leave of nobody."""
        self._process.kill()
        self._process.join(40)


def said(shown: list[RenderedMessage]) -> list[str]:
    """The writer's words in messages not marked as doubles."""
    return words_of([each for each in shown if MARK not in each.text])


def words_of(shown: list[RenderedMessage]) -> list[str]:
    """The words that the writer says in these messages."""
    return [
        word
        for each in shown
        if each.name == "writer"
        for block in each.blocks
        if block["type"] == "markdown"
        for word in block["text"].split()
    ]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A call at which the process is killed.

    `plain`: Slack streams nothing; `blind`: nor does it let the thread be read. `cut`: the first
    post of the next process, a notice, does not arrive.
    """

    method: str
    skip: int = 0
    applied: bool = True
    plain: bool = False
    blind: bool = False
    cut: bool = False


MOMENTS = {
    "start applied": Moment(method="chat.startStream"),
    "start applied, the notice not": Moment(method="chat.startStream", cut=True),
    "start not applied": Moment(method="chat.startStream", applied=False),
    "append applied": Moment(method="chat.appendStream", skip=1),
    "stop applied": Moment(method="chat.stopStream"),
    "card applied": Moment(method="chat.postMessage"),
    "card not applied": Moment(method="chat.postMessage", applied=False),
    "post applied": Moment(method="chat.postMessage", plain=True),
    "post not applied": Moment(method="chat.postMessage", plain=True, applied=False),
    "post applied and not to be found": Moment(method="chat.postMessage", plain=True, blind=True),
    "update applied": Moment(method="chat.update", plain=True),
}
PER_CHANGE = {
    "start applied, the notice not",
    "append applied",
    "card not applied",
    "post applied and not to be found",
    "update applied",
}
"""Moments that are tried per change; `make nightly` has the others."""


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(moment, id=name, marks=() if name in PER_CHANGE else pytest.mark.nightly)
        for name, moment in MOMENTS.items()
    ],
)
async def test_nothing_is_lost_or_silently_doubled(tmp_path: Path, moment: Moment) -> None:
    async with SlackSimulator(clock=RealClock()) as slack:
        asked = await slack.person("alice").asks("general", "do it")

        def shown() -> list[RenderedMessage]:
            return slack.messages("general", asked)[1:]

        def there(condition: Callable[[RenderedMessage], object]) -> Callable[[], bool]:
            return lambda: any(condition(each) for each in shown())

        def limit() -> None:
            if moment.plain:
                slack.fail("chat.startStream", Refusal("channel_type_not_supported"), times=99)
            if moment.blind:
                slack.fail("conversations.replies", Refusal("missing_scope"), times=99)

        limit()
        slack.fail(moment.method, Delay(NEVER, applied=moment.applied), skip=moment.skip)
        with Process(slack, tmp_path, asked) as first:
            calls = lambda: slack.calls(moment.method)  # noqa: E731
            await slack.until(lambda: any(call.fault == "Delay" for call in calls()), within=60)
            first.kill()
        slack.faults.clear()
        limit()
        if moment.cut:
            slack.fail("chat.postMessage", ConnectionReset())
        with Process(slack, tmp_path, asked):
            await slack.until(there(lambda each: "Approve" in each.buttons), within=90)
            await slack.until(lambda: not slack.open_streams, within=40)
        doubles = [each for each in shown() if MARK in each.text]
        if moment.blind:  # the first one is left as it was, the second one says what it is
            (double,) = doubles
            assert words_of([double]) == WORDS
            first_words = said(shown())
            assert first_words == WORDS[: len(first_words)]
            assert [each.name for each in shown()].count("writer") == 2
        else:
            assert said(shown()) == WORDS
            assert doubles == []
        notices = [NOTICE in each.text for each in shown()].count(True)
        assert notices == 1 if moment.cut else notices <= 1
        cards = [each for each in shown() if "Approve" in each.buttons and each not in doubles]
        assert len(cards) == 1
