"""From a chat completion, whole or in chunks, to a CreateResult.

What arrives is read as plain JSON data, leniently: servers that call themselves compatible leave
out the index of a tool call, its id, the usage, or send calls in one piece.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from teams._base.tool_call import FunctionCall
from teams.models._edge import arguments_text, reported_usage
from teams.models._errors import BadAnswer, ModelDisconnected, ModelRefused
from teams.models._thought import ThoughtParser
from teams.models._types import (
    ChatCompletionTokenLogprob,
    CreateResult,
    FinishReasons,
    TopLogprob,
)

Json: TypeAlias = Mapping[str, Any]

_FINISH_REASONS: Mapping[str, FinishReasons] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "function_calls",
    "function_call": "function_calls",
    "content_filter": "content_filter",
}


def read_completion(completion: object, *, structured: bool) -> CreateResult:
    """The result of a whole completion.

    Raises BadAnswer for what is none, and ModelRefused for a withheld answer.
    """
    answer = Answer()
    choice = _first_choice(completion)
    if choice is None:
        raise BadAnswer("The answer is not a chat completion")
    message = cast("Json", choice.get("message") or {})
    answer.add({**cast("Json", completion), "choices": [{**choice, "delta": message}]})
    return answer.result(structured=structured)


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str]


@dataclass(slots=True)
class Answer:
    """An answer that grows by chunks."""

    _text: list[str] = field(default_factory=list[str])
    _reasoning: list[str] = field(default_factory=list[str])
    _refusal: list[str] = field(default_factory=list[str])
    _calls: list[_Call] = field(default_factory=list[_Call])
    _newest: dict[int, _Call] = field(default_factory=dict[int, _Call])
    """The newest call with each index."""
    _logprobs: list[ChatCompletionTokenLogprob] = field(
        default_factory=list[ChatCompletionTokenLogprob]
    )
    _begun: bool = False
    _finish_reason: str | None = None
    _usage: Json | None = None
    _thinking: ThoughtParser = field(default_factory=ThoughtParser)

    def add(self, chunk: object) -> str:
        """Take a chunk, and return its text for the reader."""
        choice = _first_choice(chunk)
        self._begun = True
        if isinstance(chunk, Mapping):
            self._usage = cast("Json", chunk).get("usage") or self._usage
        if choice is None:
            return ""
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        delta = cast("Json", choice.get("delta") or {})
        text = ""
        if content := delta.get("content"):
            text = self._thinking.read(
                content if isinstance(content, str) else _join_parts(content)
            )
            self._text.append(text)
        if len(delta) > 1 or not content or choice.get("logprobs"):
            self._add_rest(choice, delta)
        return text

    def _add_rest(self, choice: Json, delta: Json) -> None:
        # Both names are in use for the same thing.
        if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
            self._reasoning.append(reasoning)
        if refusal := delta.get("refusal"):
            self._refusal.append(refusal)
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        if call := delta.get("function_call"):  # the form before tools
            self._add_call({"function": call})
        if logprobs := choice.get("logprobs"):
            self._logprobs += [_logprob(token) for token in logprobs.get("content") or ()]

    def _add_call(self, delta: Json) -> None:
        function = cast("Json", delta.get("function") or {})
        name, arguments = function.get("name") or "", function.get("arguments") or ""
        index, call_id = delta.get("index"), delta.get("id") or ""
        call = self._find_continued_call(index, call_id, name)
        if call is None:
            call = _Call(call_id, name, [])
            self._calls.append(call)
            if isinstance(index, int):
                self._newest[index] = call
        call.arguments.append(
            arguments if isinstance(arguments, str) else arguments_text(arguments)
        )

    def _find_continued_call(self, index: object, call_id: str, name: str) -> _Call | None:
        """The call that this piece continues; None if it begins another."""
        if isinstance(index, int):
            call = self._newest.get(index)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or (call_id and call_id != call.id):
            return None
        # Without an id, a name is only said at the beginning.
        return None if name and not call_id else call

    def end(self) -> str:
        """Text that was held back as a possible mark of a thought."""
        rest = self._thinking.end()
        self._text.append(rest)
        return rest

    def result(self, *, structured: bool) -> CreateResult:
        """The whole answer.

        `structured`: its text has to be JSON, so a refusal is no answer. Raises ModelDisconnected
        for an answer without an end, BadAnswer for one that never began or was cut before it said
        anything, and ModelRefused for one that was withheld.
        """
        self.end()
        text = "".join(self._text)
        if not self._begun:
            raise BadAnswer("The answer is not what the API promises")
        if self._finish_reason is None:
            raise ModelDisconnected("The answer ended before it was complete")
        refusal = "".join(self._refusal)
        self._check(text, refusal, structured)
        thoughts = [self._thinking.thought, "".join(self._reasoning)]
        calls = [_function_call(call) for call in self._calls]
        if calls:
            thoughts.append(text)
        reason = _FINISH_REASONS.get(self._finish_reason, "unknown")
        return CreateResult(
            # Some servers end with "stop" after calls.
            finish_reason="function_calls" if calls else reason,
            content=calls or text or refusal,
            usage=reported_usage(self._usage, ["prompt_tokens"], "completion_tokens"),
            cached=False,
            logprobs=self._logprobs or None,
            thought="\n\n".join(thought for thought in thoughts if thought) or None,
        )

    def _check(self, text: str, refusal: str, structured: bool) -> None:
        if self._calls or text:
            return
        if refusal and structured:
            raise ModelRefused(f"The model refused to answer: {refusal}")
        if self._finish_reason == "content_filter" and not refusal:
            raise ModelRefused("The provider's content filter withheld the answer")
        if self._finish_reason == "length":
            raise BadAnswer("The answer was cut at the token limit before it said anything")


def _first_choice(chunk: object) -> Json | None:
    if not isinstance(chunk, Mapping):
        raise BadAnswer("The answer is not what the API promises")
    choices = cast("Json", chunk).get("choices")
    if not choices:
        return None
    return next((choice for choice in choices if not choice.get("index")), None)


def _join_parts(parts: list[Json]) -> str:
    """The text of a content given in parts."""
    return "".join(part.get("text") or "" for part in parts)


def _function_call(call: _Call) -> FunctionCall:
    arguments = "".join(call.arguments).strip() or "{}"
    return FunctionCall(
        id=call.id or f"call_{uuid.uuid4().hex}", name=call.name, arguments=arguments
    )


def _logprob(token: Json) -> ChatCompletionTokenLogprob:
    return ChatCompletionTokenLogprob(
        token=token["token"],
        logprob=token["logprob"],
        top_logprobs=[
            TopLogprob(logprob=top["logprob"], bytes=top.get("bytes"))
            for top in token.get("top_logprobs") or ()
        ],
        bytes=token.get("bytes"),
    )
