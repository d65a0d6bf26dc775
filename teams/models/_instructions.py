"""Texts that a run tells each model that is asked within it.

They stand before the messages of a request, and nowhere else: no context, state or file has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import takewhile
from typing import TypeAlias

from teams._base.tool_call import AGENT_PATH
from teams.models._types import LLMMessage, SystemMessage, UserMessage

Instructions: TypeAlias = Mapping[str, Sequence[SystemMessage | UserMessage]]
"""Texts by the team or agent on the path of who asks; "" for all."""

INSTRUCTIONS: ContextVar[Instructions | None] = ContextVar("teams_instructions", default=None)
"""Those of the run this code is part of."""


def instructed(messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
    """The messages, after what the run tells who asks.

    System texts come first, in one message with that of the request; the others follow it. What was
    told by a client around this one is not told again.
    """
    if not (told := INSTRUCTIONS.get()):
        return messages
    parts = _parts(told)
    text = "\n\n".join(part.content for part in parts if isinstance(part, SystemMessage))
    own = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
    if text and not (own and own.content.startswith(text)):
        whole = f"{text}\n\n{own.content}" if own else text
        messages = [SystemMessage(content=whole), *messages[1 if own else 0 :]]
    quoted = [part for part in parts if isinstance(part, UserMessage)]
    if quoted and not any(each is quoted[0] for each in messages):
        first = sum(1 for _ in takewhile(lambda each: isinstance(each, SystemMessage), messages))
        messages = [*messages[:first], *quoted, *messages[first:]]
    return messages


def quoted_in(messages: Sequence[LLMMessage]) -> list[UserMessage]:
    """The messages that the run tells as foreign text."""
    told = _parts(INSTRUCTIONS.get() or {})
    quoted = [each for each in messages if isinstance(each, UserMessage)]
    return [each for each in quoted if any(each is part for part in told)]


def _parts(told: Instructions) -> list[SystemMessage | UserMessage]:
    """The parts for who asks."""
    path = AGENT_PATH.get()
    return [part for name, each in told.items() if not name or name in path for part in each]
