"""Structured events for logs: model calls, tool calls, and messages between agents.

They go to the logger `EVENT_LOGGER_NAME` at level INFO, as the record's `msg`; their
text is JSON. Nothing is built while nobody listens.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from teams._base.tool_call import AGENT_PATH, CURRENT_CALL

ROOT_LOGGER_NAME = "teams"
EVENT_LOGGER_NAME = "teams.events"
TRACE_LOGGER_NAME = "teams.trace"

events = logging.getLogger(EVENT_LOGGER_NAME)


class Message(Protocol):
    """A message or an event of a conversation."""

    def dump(self) -> Mapping[str, Any]:
        """The message as JSON-ready data."""
        ...


class _Event:
    """`kwargs` holds everything the event says; `type` tells the kinds apart."""

    def __init__(self, type: str, **kwargs: Any) -> None:
        self.kwargs: dict[str, Any] = {"type": type, "agent_id": _agent_id(), **kwargs}

    def __str__(self) -> str:
        return json.dumps(self.kwargs, default=str, ensure_ascii=False)


class _Usage(_Event):
    @property
    def prompt_tokens(self) -> int:
        """Tokens of the request."""
        return self.kwargs["prompt_tokens"]

    @property
    def completion_tokens(self) -> int:
        """Tokens of the answer."""
        return self.kwargs["completion_tokens"]


class LLMCallEvent(_Usage):
    """A model's answer: the request's messages and the response as sent."""

    def __init__(
        self,
        *,
        messages: Sequence[Mapping[str, Any]],
        response: Mapping[str, Any],
        prompt_tokens: int,
        completion_tokens: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "LLMCall",
            messages=messages,
            response=response,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            **kwargs,
        )


class LLMStreamStartEvent(_Event):
    """A model was asked for a stream, and has begun to answer."""

    def __init__(self, *, messages: Sequence[Mapping[str, Any]], **kwargs: Any) -> None:
        super().__init__("LLMStreamStart", messages=messages, **kwargs)


class LLMStreamEndEvent(_Usage):
    """A streamed answer is complete."""

    def __init__(
        self,
        *,
        response: Mapping[str, Any],
        prompt_tokens: int,
        completion_tokens: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "LLMStreamEnd",
            response=response,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            **kwargs,
        )


class ToolCallEvent(_Event):
    """A tool has run; `result` is what the model is told."""

    def __init__(self, *, tool_name: str, arguments: Mapping[str, Any], result: str) -> None:
        super().__init__("ToolCall", tool_name=tool_name, arguments=arguments, result=result)


class MessageEvent(_Event):
    """A message has come into the conversation of a team."""

    def __init__(self, *, team: str, message: Message) -> None:
        super().__init__("Message", team=team, message=message.dump())


def is_heard() -> bool:
    """True if somebody listens."""
    return events.isEnabledFor(logging.INFO)


def log_messages(team: str, messages: Iterable[Message]) -> None:
    """One MessageEvent for each, if anybody listens."""
    if is_heard():
        for message in messages:
            events.info(MessageEvent(team=team, message=message))


def _agent_id() -> str | None:
    """The known path of names of the caller, outermost first."""
    call = CURRENT_CALL.get()
    return "/".join(call.agent if call is not None else AGENT_PATH.get()) or None
