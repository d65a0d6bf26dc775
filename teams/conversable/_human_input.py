"""Decisions before a reply: end, ask a person, or go on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from teams.conversable._protocols import Message, Settings

HumanInputMode = Literal["ALWAYS", "NEVER", "TERMINATE"]
MODES = ("ALWAYS", "NEVER", "TERMINATE")


class Act(Enum):
    """A decision that needs no text."""

    EXIT = "end the conversation"
    AUTO = "reply automatically"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """State of a conversation before a reply."""

    mode: HumanInputMode
    counter: int
    limit: int
    ended: bool
    """The last message ends the conversation."""


def question(standing: Standing, *, me: str, sender: str) -> str | Act:
    """Prompt for a person, or a decision without one."""
    if standing.mode == "ALWAYS":
        return (
            f"Replying as {me}. Provide feedback to {sender}. Press enter to skip and use "
            "auto-reply, or type 'exit' to end the conversation: "
        )
    if standing.counter < standing.limit and not standing.ended:
        return Act.AUTO
    if standing.mode == "NEVER":
        return Act.EXIT
    skip = "or" if standing.ended else "to skip and use auto-reply, or"
    return (
        f"Please give feedback to {sender}. Press enter {skip} type 'exit' to stop the "
        "conversation: "
    )


def outcome(answer: str, standing: Standing, last: Message) -> Message | Act:
    """The person's answer as a reply or a decision."""
    if answer == "exit" or (not answer and standing.ended):
        return Act.EXIT
    if not answer and standing.limit != 0:
        return Act.AUTO
    reply: Settings = {"role": "user", "content": answer}
    if interrupted := _interrupted(last):
        reply["tool_responses"] = interrupted
    return reply


def _interrupted(last: Message) -> list[Message]:
    """Results of the calls that the person's text came before."""
    said = "USER INTERRUPTED"
    results: list[Message] = []
    if call := last.get("function_call"):
        results.append({"role": "function", "name": call.get("name", ""), "content": said})
    calls: list[Message] = last.get("tool_calls") or []
    return results + [
        {"role": "tool", "tool_call_id": call.get("id", ""), "content": said} for call in calls
    ]
