"""kill -9 while Slack has taken something that nobody has heard of: nothing is lost, and nothing
stands there twice without saying so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.slack.simulator import HOME, Delay, RealClock, Shown, SlackSimulator
from adapters.slack.simulator.state import Message
from gateway.conversation import ConversationKey
from tests.adapters.slack_out.child import WORDS

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(200)]

ROOT = Path(__file__).resolve().parents[3]
NEVER = 100_000.0


class Process:
    """A gateway of its own process."""

    def __init__(self, slack: SlackSimulator, folder: Path, asked: Message) -> None:
        key = ConversationKey(
            platform="slack", workspace=HOME, channel=asked.channel, root=asked.root
        )
        user = slack.person("alice").id
        arguments = [slack.api_url, slack.bot_token, str(folder), str(key), user]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.adapters.slack_out.child", *arguments],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """As kill -9 does: it takes leave of nobody."""
        self._process.kill()
        self._process.communicate(timeout=40)


def said(shown: list[Shown]) -> list[str]:
    """The words that the writer says, in messages that do not say that they may be doubles."""
    return [
        word
        for each in shown
        if each.name == "writer" and "may appear twice" not in each.text
        for block in each.blocks
        if block["type"] == "markdown"
        for word in block["text"].split()
    ]


MOMENTS = {
    "start applied": ("chat.startStream", 0, True),
    "start not applied": ("chat.startStream", 0, False),
    "append applied": ("chat.appendStream", 1, True),
    "stop applied": ("chat.stopStream", 0, True),
    "card applied": ("chat.postMessage", 0, True),
    "card not applied": ("chat.postMessage", 0, False),
}


@pytest.mark.parametrize(("method", "skip", "applied"), MOMENTS.values(), ids=MOMENTS)
async def test_nothing_is_lost_or_silently_doubled(
    tmp_path: Path, method: str, skip: int, applied: bool
) -> None:
    async with SlackSimulator(clock=RealClock()) as slack:
        asked = await slack.person("alice").asks("general", "do it")

        def shown() -> list[Shown]:
            return slack.messages("general", asked)[1:]

        def there(condition: Callable[[Shown], object]) -> Callable[[], bool]:
            return lambda: any(condition(each) for each in shown())

        slack.fail(method, Delay(NEVER, applied=applied), skip=skip)
        with Process(slack, tmp_path, asked) as first:
            await slack.until(lambda: any(call.fault for call in slack.calls(method)), within=60)
            first.kill()
        slack.world.faults.clear()
        with Process(slack, tmp_path, asked):
            await slack.until(there(lambda each: "Approve" in each.buttons), within=90)
            await slack.until(lambda: not slack.open_streams, within=40)
        doubles = [each for each in shown() if "may appear twice" in each.text]
        assert said(shown()) == WORDS
        cards = [each for each in shown() if "Approve" in each.buttons and each not in doubles]
        assert len(cards) == 1
        assert doubles == []
