"""Random failures of Slack: every message arrives in the end, once."""

import random
from pathlib import Path

import pytest

from adapters.slack.testing import (
    ConnectionReset,
    MalformedAnswer,
    Refusal,
    RenderedMessage,
    ServerError,
    SlackSimulator,
    TooManyRequests,
    TruncatedAnswer,
)
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import one, running

WORDS = [f"word{n}" for n in range(120)]
METHODS = (
    "chat.startStream",
    "chat.appendStream",
    "chat.appendStream",
    "chat.stopStream",
    "chat.update",
    "chat.postMessage",
    "conversations.replies",
    "agents.sessions.setStatus",
)
FAULTS = (
    TooManyRequests(5),
    TooManyRequests(3, plainly=True),
    ConnectionReset(),
    ConnectionReset(applied=True),
    ServerError(503),
    ServerError(applied=True),
    MalformedAnswer(),
    TruncatedAnswer(),
    Refusal("internal_error"),
    Refusal("message_not_in_streaming_state"),
    Refusal("msg_too_long"),
)


def said(shown: list[RenderedMessage]) -> list[str]:
    return [
        word
        for each in shown
        if each.name == "solo" and "may appear twice" not in each.text
        for block in each.blocks
        if block["type"] == "markdown"
        for word in block["text"].split()
    ]


@pytest.mark.parametrize("seed", [*range(10), 75, 139])
async def test_whatever_fails_the_answer_stands_there_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, " ".join(WORDS), pause=0.2)) as run,
        advancing(slack, 0.2),
    ):
        for _ in range(8):
            method, fault = chance.choice(METHODS), chance.choice(FAULTS)
            if isinstance(fault, Refusal) and fault.error.startswith("m"):
                method = chance.choice(("chat.appendStream", "chat.stopStream"))
            slack.fail(method, fault, skip=chance.randrange(4))
        asked = await run.ask("alice", "write it")
        await slack.until(
            lambda: said(run.messages(asked)) == WORDS and run.finished(asked), within=40
        )
        assert slack.open_streams == []
