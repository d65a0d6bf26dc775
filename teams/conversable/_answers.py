"""Answers of models in the shape of a chat completion."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from teams._messages.chat import finish_of
from teams.conversable._protocols import Settings
from teams.models._types import CreateResult


class Answer(SimpleNamespace):
    """An answer or its part, with the fields of OpenAI's object."""

    def model_dump(self) -> Settings:
        """The fields that hold something, and a message's `content`."""
        fields = vars(self).items()
        return {key: _dump(each) for key, each in fields if each is not None or key == "content"}


def make_answer(result: CreateResult, *, model: str, cost: float, legacy_call: bool) -> Answer:
    """The answer for a result; `legacy_call`: with a function call."""
    message = Answer(content=result.content, role="assistant", function_call=None, tool_calls=None)
    if not isinstance(result.content, str):
        message.content, message.left_out = result.thought, result.left_out or None
        calls = [
            Answer(
                id=call.id,
                function=Answer(name=call.name, arguments=call.arguments),
                type="function",
            )
            for call in result.content
        ]
        if legacy_call:  # which is one
            message.function_call = calls[0].function
            message.left_out = result.left_out + len(calls) - 1 or None
        else:
            message.tool_calls = calls
    read, written = result.usage.prompt_tokens, result.usage.completion_tokens
    finish = finish_of(result) or result.finish_reason
    return Answer(
        choices=[Answer(index=0, message=message, finish_reason=finish)],
        model=model,
        usage=Answer(prompt_tokens=read, completion_tokens=written, total_tokens=read + written),
        cost=cost,
    )


def _dump(value: object) -> object:
    if isinstance(value, list):
        return [_dump(each) for each in cast("list[Any]", value)]
    return value.model_dump() if isinstance(value, Answer) else value
