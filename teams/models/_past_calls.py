"""Past calls with their results, as providers take them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import cast

from teams._base.tool_call import DEEPEST, FunctionCall, is_deeper, is_too_large
from teams._base.whole_text import whole_texts
from teams.models._conversation import error_results
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
)


def _finite(text: str) -> float:
    if math.isfinite(number := float(text)):
        return number
    raise ValueError(f"{text} is no JSON")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def arguments_object(text: str) -> dict[str, object]:
    """The arguments as the object that providers demand, whatever was written."""
    value = _decoded(text)
    return cast("dict[str, object]", value) if isinstance(value, dict) else _wrapped(text, value)


def _arguments(text: str) -> str:
    """The arguments as the text of an object."""
    value = _decoded(text)
    if not isinstance(value, dict):
        return json.dumps(_wrapped(text, value))
    return json.dumps(value) if "\\u" in text else text


def _wrapped(text: str, value: object) -> dict[str, object]:
    return {} if is_too_large(text) or not text.strip() else {"arguments": value}


def _decoded(text: str) -> object:
    """The value of JSON that can be written again, else the text."""
    if is_too_large(text) or is_deeper(text, DEEPEST):
        return text
    try:
        value: object = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return text
    return whole_texts(value) if "\\u" in text else value


@dataclass(slots=True)
class _Turn:
    """A message's calls as they are sent, and the result of each."""

    message: AssistantMessage
    calls: list[FunctionCall] = field(default_factory=list[FunctionCall])
    results: dict[str, FunctionExecutionResult] = field(
        default_factory=dict[str, FunctionExecutionResult]
    )


@dataclass(slots=True, kw_only=True)
class PastCalls:
    """Makes the calls of one request valid.

    Ids are legal and unique, arguments objects, each call is followed by its one result. `left_out`
    has a sentence for each result without a call.
    """

    legal_id: re.Pattern[str]
    name: Callable[[str], str]
    """The legal form of a tool's name."""
    left_out: list[str] = field(default_factory=list[str])
    _ids: set[str] = field(default_factory=set[str])
    _met: Counter[str] = field(default_factory=Counter[str])
    _open: dict[str, deque[tuple[_Turn, str]]] = field(
        default_factory=dict[str, deque[tuple[_Turn, str]]]
    )
    """The newest calls of each id that have no result, with their ids on the wire."""

    def settle(self, messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
        """The messages; the same ones where they are valid."""
        if all(type(text := each.content) is str and not _is_blank(text) for each in messages):
            return messages
        kept: list[LLMMessage | _Turn] = []
        for message in messages:
            if isinstance(message, AssistantMessage):
                kept += self._said(message)
            elif isinstance(message, FunctionExecutionResultMessage):
                self._take(message.content)
            else:
                kept.append(message)
        written = (_written(each) if isinstance(each, _Turn) else [each] for each in kept)
        return [*chain.from_iterable(written)]

    def _said(self, message: AssistantMessage) -> Iterator[AssistantMessage | _Turn]:
        if isinstance(message.content, str):
            if not _is_blank(message.content):  # providers refuse an empty one
                yield message
        elif message.content:
            yield self._begin(message, message.content)
        elif message.thought:
            yield AssistantMessage(content=message.thought, source=message.source)

    def _begin(self, message: AssistantMessage, calls: Sequence[FunctionCall]) -> _Turn:
        turn = _Turn(message)
        self._open |= {call.id: deque() for call in calls}
        for call in calls:
            sent = FunctionCall(
                id=self._id(call.id),
                name=self.name(call.name),
                arguments=_arguments(call.arguments),
            )
            turn.calls.append(call if sent == call else sent)
            self._open[call.id].append((turn, sent.id))
        return turn

    def _id(self, call_id: str) -> str:
        """A legal id of its own; the same in each request."""
        sent = call_id
        while sent in self._ids or not self.legal_id.fullmatch(sent):
            self._met[call_id] += 1
            seed = f"{call_id}#{self._met[call_id]}".encode(errors="replace")
            sent = hashlib.sha256(seed).hexdigest()[:9]  # as short as Mistral wants it
        self._ids.add(sent)
        return sent

    def _take(self, results: Sequence[FunctionExecutionResult]) -> None:
        for result in results:
            if waiting := self._open.get(result.call_id):
                turn, sent = waiting.popleft()
                turn.results[sent] = result
            else:
                self.left_out.append(f"A result of {result.name!r} is left out, without its call")


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _written(turn: _Turn) -> Iterator[LLMMessage]:
    """The calls, and their results in the same order."""
    said = turn.message
    if turn.calls != said.content:
        said = AssistantMessage(content=turn.calls, thought=said.thought, source=said.source)
    yield said
    results = [turn.results.get(call.id) or error_results([call])[0] for call in turn.calls]
    yield FunctionExecutionResultMessage.model_construct(  # of valid results
        content=[
            result
            if (result.call_id, result.name) == (call.id, call.name)
            else result.model_copy(update={"call_id": call.id, "name": call.name})
            for call, result in zip(turn.calls, results, strict=True)
        ]
    )
