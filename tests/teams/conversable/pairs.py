"""Agents for tests of chats, and a stream that records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from teams.conversable import ConversableAgent, IOStream


def agent(name: str = "al", **options: Any) -> ConversableAgent:
    """An agent that asks nobody and says "I am NAME"."""
    defaults: dict[str, Any] = {
        "human_input_mode": "NEVER",
        "default_auto_reply": f"I am {name}",
    }
    return ConversableAgent(name, **(defaults | options))


def saying(name: str, *texts: Any, **options: Any) -> ConversableAgent:
    """An agent that says these texts in turn, then nothing."""
    speaker = agent(name, default_auto_reply=None, **options)
    left = list(texts)

    def say_next(*_: Any, **__: Any) -> tuple[bool, Any]:
        return True, left.pop(0) if left else None

    speaker.register_reply(lambda _: True, say_next)
    return speaker


class Screen(IOStream):
    """Keeps what is printed, and answers prompts with what it was given."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []
        self.text = ""

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        self.text += sep.join(map(str, objects)) + end

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        self.prompts.append(prompt)
        return self.answers.pop(0)


def contents(messages: list[dict[str, Any]] | None) -> list[Any]:
    """Contents of messages."""
    assert messages is not None
    return [message["content"] for message in messages]


def reply(*replies: Any) -> Callable[..., tuple[bool, Any]]:
    """A reply function that always gives this one."""

    def give(*_: Any, **__: Any) -> tuple[bool, Any]:
        return True, replies[0]

    return give
