"""A model that remembers, forgets, and says what it is told."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from teams.core import FunctionCall
from teams.models import (
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from teams.models.replay import ReplayChatCompletionClient

CAN_CALL = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)
USAGE = RequestUsage(prompt_tokens=1, completion_tokens=1)
_WISH = re.compile(r"(remember|forget) (.+)", re.DOTALL)


class RememberingModel(ReplayChatCompletionClient):
    """Carries out `remember TEXT` and `forget N`; says all memory messages otherwise."""

    def __init__(self) -> None:
        super().__init__(["-"], CAN_CALL)

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:  # pyright: ignore[reportIncompatibleMethodOverride]
        last = messages[-1]
        if isinstance(last, FunctionExecutionResultMessage):
            return _result("; ".join(each.content for each in last.content))
        said = [each for each in messages if isinstance(each, UserMessage)]
        told = [str(each.content) for each in said if each.source.startswith("memory-")]
        asked = [str(each.content) for each in said if not each.source.startswith("memory-")]
        wish = _WISH.search(asked[-1])
        if wish is None:
            return _result("\n".join(told) or "nothing")
        forgets = wish[1] == "forget"
        arguments = {"number": int(wish[2])} if forgets else {"text": wish[2]}
        call = FunctionCall(id=f"c{len(messages)}", name=wish[1], arguments=json.dumps(arguments))
        return _result([call])


def _result(content: str | list[FunctionCall]) -> CreateResult:
    reason = "stop" if isinstance(content, str) else "function_calls"
    return CreateResult(finish_reason=reason, content=content, usage=USAGE, cached=False)
