"""Answers of services that keep conversations and run tools."""

from __future__ import annotations

from collections.abc import Sequence

from teams._base.image import Image
from teams.models._instructions import quoted_in
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    LLMMessage,
    ModelInfo,
    UserMessage,
)

ABLE: ModelInfo = {
    "vision": True,
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "family": "unknown",
}
"""Abilities of a model that is not known by its name."""


def since_last_of(source: str, messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
    """The messages after the agent's own last one.

    Before those that people or agents have said since stands what the run tells by quotes: it may
    be another text than the service has been told before.
    """
    for place in reversed(range(len(messages))):
        message = messages[place]
        if isinstance(message, AssistantMessage) and message.source == source:
            new = messages[place + 1 :]
            said = any(isinstance(each, UserMessage) for each in new)
            return [*quoted_in(messages[:place]), *new] if said else new
    return messages


def parts_of(message: UserMessage) -> list[str | Image]:
    """Texts and images, after the name of an agent that speaks."""
    said = [] if message.source == "user" else [f"{message.source} said:\n"]
    parts = [message.content] if isinstance(message.content, str) else message.content
    return [*said, *parts]


def ran_there(name: str, call_id: str, *, failed: bool = False) -> FunctionExecutionResult:
    """A note that the provider has run a tool."""
    text = f"The provider has run it: {'failed' if failed else 'completed'}."
    return FunctionExecutionResult(content=text, name=name, call_id=call_id, is_error=failed)
