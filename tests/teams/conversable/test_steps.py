"""An observer of an async chat's steps."""

from __future__ import annotations

from typing import Any

from teams.conversable import IOStream
from teams.conversable._steps import STEPS
from tests.teams.conversable.pairs import Screen, agent, contents, saying


class Story:
    """Notes each step, and what both sides have then."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []

    async def appended(self, sender: Any, recipient: Any, message: Any) -> None:
        assert contents(sender.chat_messages[recipient])[-1] == message["content"]
        assert contents(recipient.chat_messages[sender])[-1] == message["content"]
        self.steps.append(("appended", sender.name, message["content"]))

    async def reply_made(self, agent: Any, sender: Any, reply: Any) -> None:
        assert contents(agent.chat_messages[sender])[-1] != reply
        self.steps.append(("made", agent.name, reply))

    async def asking(self, agent: Any, sender: Any, prompt: str) -> None:
        self.steps.append(("asking", agent.name))

    async def summarised(self, sender: Any, recipient: Any, summary: Any) -> None:
        self.steps.append(("summarised", summary))


async def test_each_step_is_told_before_the_next():
    story, al = Story(), agent("al", human_input_mode="ALWAYS")
    token = STEPS.set(story)
    try:
        with IOStream.set_default(Screen("mine", "exit")):
            await al.a_initiate_chat(saying("bo", "1", "2"), message="hi", silent=True)
    finally:
        STEPS.reset(token)
    assert story.steps == [
        ("appended", "al", "hi"),
        ("made", "bo", "1"),
        ("appended", "bo", "1"),
        ("asking", "al"),
        ("made", "al", {"role": "user", "content": "mine"}),
        ("appended", "al", "mine"),
        ("made", "bo", "2"),
        ("appended", "bo", "2"),
        ("asking", "al"),
        ("summarised", "2"),
    ]


def test_a_sync_chat_tells_nothing():
    story = Story()
    token = STEPS.set(story)
    try:
        saying("al").initiate_chat(saying("bo", "1"), message="hi", silent=True)
    finally:
        STEPS.reset(token)
    assert story.steps == []
