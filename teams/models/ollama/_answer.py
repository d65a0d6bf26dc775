"""From the parts of a chat response to a CreateResult."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from teams._base.tool_call import FunctionCall
from teams.models._edge import arguments_text, reported_usage
from teams.models._errors import BadAnswer, ModelDisconnected
from teams.models._thought import ThoughtParser
from teams.models._types import CreateResult, FinishReasons

_FINISH_REASONS: Mapping[str, FinishReasons] = {"stop": "stop", "length": "length"}


@dataclass(slots=True)
class Answer:
    """An answer that grows by parts."""

    _text: list[str] = field(default_factory=list[str])
    _thinking: list[str] = field(default_factory=list[str])
    _calls: list[FunctionCall] = field(default_factory=list[FunctionCall])
    _end: Mapping[str, Any] | None = None
    _marks: ThoughtParser = field(default_factory=ThoughtParser)

    def add(self, part: Mapping[str, Any]) -> str:
        """Take a part, and return its text for the reader.

        Raises BadAnswer for what is no part of a chat.
        """
        message: Any = part.get("message") or {}
        if not isinstance(message, dict) or not (message or part.get("done")):
            raise BadAnswer("The answer is not what the API promises")
        said = cast("dict[str, Any]", message)
        text = self._marks.read(said.get("content") or "")
        self._thinking.append(said.get("thinking") or "")
        self._calls += [_function_call(call) for call in said.get("tool_calls") or ()]
        if part.get("done"):
            self._end = part
            text += self._marks.end()
        self._text.append(text)
        return text

    def result(self) -> CreateResult:
        """The whole answer.

        Raises ModelDisconnected for one without an end, and BadAnswer for one that was cut before
        it said anything.
        """
        if self._end is None:
            raise ModelDisconnected("The answer ended before it was complete")
        text, calls, reason = "".join(self._text), self._calls, self._end.get("done_reason", "")
        if not (text or calls) and reason == "length":
            raise BadAnswer("The answer was cut at the token limit before it said anything")
        thoughts = [self._marks.thought, "".join(self._thinking), text if calls else ""]
        finish = _FINISH_REASONS.get(reason, "unknown")
        return CreateResult(
            finish_reason="function_calls" if calls else finish,
            content=calls or text,
            usage=reported_usage(self._end, ["prompt_eval_count"], "eval_count"),
            cached=False,
            thought="\n\n".join(thought for thought in thoughts if thought) or None,
        )


def _function_call(call: Mapping[str, Any]) -> FunctionCall:
    function = cast("Mapping[str, Any]", call["function"])
    arguments = arguments_text(function.get("arguments") or {})
    # Ollama gives no ids, or none that are different from those of the turn before.
    return FunctionCall(
        id=f"call_{uuid.uuid4().hex}", name=function.get("name") or "", arguments=arguments
    )
