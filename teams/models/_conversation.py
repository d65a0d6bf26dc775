"""Prepare contexts for models: close calls, remove images, reuse long requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getrefcount

from teams._base.construct import CompactFactory
from teams._base.history import History
from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams.models._json import compact_assistant_message
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

_instructions = CompactFactory(SystemMessage)

Content = str | Sequence[str | Image] | Sequence[FunctionCall] | Sequence[FunctionExecutionResult]

OUTCOME_UNKNOWN = (
    "The call was interrupted: it may or may not have happened. Check before you repeat it."
)


def instructions(text: str) -> SystemMessage:
    """The message for an agent's instructions, which pydantic has checked."""
    return _instructions(vars(SystemMessage(content=text)))


def assistant_message(
    content: str | list[FunctionCall], source: str, thought: str | None, origin: str = ""
) -> AssistantMessage:
    """A model's valid answer; `origin` is the id of its chat message."""
    values = {"content": content, "thought": thought, "source": source, "type": "AssistantMessage"}
    message = compact_assistant_message(values)
    message.stem_from(origin)
    return message


def calls_of(message: LLMMessage) -> list[FunctionCall]:
    """The tool calls an assistant message makes."""
    if type(message.content) is str:  # most are: no look at their class
        return []
    if isinstance(message, AssistantMessage) and isinstance(message.content, list):
        return message.content
    return []


def error_results(
    calls: Iterable[FunctionCall], reason: str = OUTCOME_UNKNOWN
) -> list[FunctionExecutionResult]:
    """One error result for each call."""
    return [
        FunctionExecutionResult(content=reason, name=call.name, call_id=call.id, is_error=True)
        for call in calls
    ]


def open_calls(messages: Sequence[LLMMessage]) -> list[FunctionCall]:
    """The calls without a result in a context's last two messages."""
    if not messages:
        return []
    if calls := calls_of(messages[-1]):
        return calls
    if len(messages) > 1 and isinstance(messages[-1], FunctionExecutionResultMessage):
        answered = {result.call_id for result in messages[-1].content}
        return [call for call in calls_of(messages[-2]) if call.id not in answered]
    return []


def close_calls(messages: Sequence[LLMMessage]) -> list[LLMMessage] | None:
    """The context with an error result for each open call.

    None if there is no open call. AutoGen leaves such calls behind when a run is cancelled during a
    tool call, and OpenAI-style APIs refuse them.
    """
    if all(type(message.content) is str for message in messages):
        return None
    closed: list[LLMMessage] = []
    changed = False
    for position, message in enumerate(messages):
        closed.append(message)
        calls = calls_of(message)
        if not calls:
            continue
        following = messages[position + 1] if position + 1 < len(messages) else None
        results = following.content if isinstance(following, FunctionExecutionResultMessage) else []
        answered = {result.call_id for result in results}
        if missing := [call for call in calls if call.id not in answered]:
            changed = True
            closed.append(FunctionExecutionResultMessage(content=error_results(missing)))
    return closed if changed else None


def content_to_str(content: Content) -> str:
    """The content as text, a line per part, images as `<image>`."""
    if isinstance(content, str):
        return content
    return "\n".join("<image>" if isinstance(part, Image) else str(part) for part in content)


def remove_images(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    """The messages without images; messages without parts stay the same objects."""
    return [
        UserMessage(content=content_to_str(message.content), source=message.source)
        if isinstance(message, UserMessage) and not isinstance(message.content, str)
        else message
        for message in messages
    ]


def one_system_message(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    """The system messages, which must follow each other, as one."""
    places = [index for index, message in enumerate(messages) if isinstance(message, SystemMessage)]
    if len(places) < 2:  # noqa: PLR2004
        return list(messages)
    first, last = places[0], places[-1]
    if last - first >= len(places):
        raise ValueError(
            "This model takes one system message (model_info['multiple_system_messages'] is "
            "False), but other messages stand between several ones."
        )
    texts = [message.content for message in messages if isinstance(message, SystemMessage)]
    merged = SystemMessage(content="\n".join(texts))
    return [*messages[:first], merged, *messages[last + 1 :]]


class ImageWatch:
    """Remembers if a context holds images; looks only at new messages."""

    __slots__ = ("_found", "_generation", "_seen")

    def __init__(self) -> None:
        self._generation = -1
        self._seen = 0
        self._found = False

    def has_image(self, history: History[LLMMessage]) -> bool:
        """True if any message of the context has an image."""
        if self._generation != history.generation:
            self._generation, self._seen, self._found = history.generation, 0, False
        if not self._found and self._seen < len(history):
            self._found = any(
                type(message) is UserMessage and type(message.content) is list
                for message in history[self._seen :]
            )
        self._seen = len(history)
        return self._found


_LONG = 1000
"""Messages from which on reuse costs less than a new list."""


class RequestList:
    """Maker of one agent's request lists: some messages, then a whole history."""

    __slots__ = ("_generation", "_last", "_length")

    def __init__(self, last: History[LLMMessage] | None = None) -> None:
        self._last = last
        self._length = 0
        self._generation: int = 0

    def make(self, first: Sequence[LLMMessage], history: History[LLMMessage]) -> list[LLMMessage]:
        """Make a list that the client can have."""
        if len(history) < _LONG:
            return [*first, *history]
        unshared = self.references() == _UNSHARED
        last = self._last
        if (
            last is not None
            and unshared
            and len(last) == self._length
            and last.generation == 0
            and history.generation == self._generation
            and last[: len(first)] == first
        ):
            last.extend(history[len(last) - len(first) :])
        else:
            last = self._last = History([*first, *history])
            self._generation = history.generation
        self._length = len(last)
        return last

    def release(self) -> None:
        """Keep no list: it takes memory."""
        self._last = None

    def references(self) -> int:
        """Count the references to the list as Python does."""
        return getrefcount(self._last)


_UNSHARED = RequestList(History()).references()
"""The count while nobody else holds the list."""
