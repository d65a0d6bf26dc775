"""Answers of models in the shape of a chat completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from teams._base import tool_call
from teams.models._types import CreateResult


@dataclass(slots=True, kw_only=True)
class Function:
    """A function's name, and its arguments as JSON text."""

    name: str
    arguments: str


@dataclass(slots=True, kw_only=True)
class ToolCall:
    """A call that the model asks for."""

    id: str
    function: Function
    type: Literal["function"] = "function"


@dataclass(slots=True, kw_only=True)
class Message:
    """What the model says, and the calls it asks for."""

    content: str | None
    role: Literal["assistant"] = "assistant"
    function_call: Function | None = None
    tool_calls: list[ToolCall] | None = None

    def model_dump(self) -> dict[str, Any]:
        """The message as it stands in a chat."""
        dumped: dict[str, Any] = {"content": self.content, "role": self.role}
        if self.function_call is not None:
            dumped["function_call"] = _dump(self.function_call)
        if self.tool_calls is not None:
            dumped["tool_calls"] = [
                {"id": call.id, "function": _dump(call.function), "type": call.type}
                for call in self.tool_calls
            ]
        return dumped


@dataclass(slots=True, kw_only=True)
class Choice:
    """One of the answers; there is one."""

    message: Message
    finish_reason: str
    index: int = 0


@dataclass(slots=True, kw_only=True)
class Usage:
    """Tokens of one request."""

    prompt_tokens: int
    completion_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(slots=True, kw_only=True)
class Answer:
    """An answer, its price, and which entry of the config gave it."""

    choices: list[Choice]
    model: str
    usage: Usage
    cost: float
    config_id: int | None = None
    pass_filter: bool | None = None


def make_answer(result: CreateResult, *, model: str, cost: float, legacy_call: bool) -> Answer:
    """The answer for a result; with `legacy_call`, its call as a function call."""
    message = Message(content=None)
    if isinstance(result.content, str):
        message.content = result.content
    else:
        message.content = result.thought
        if legacy_call:
            message.function_call = _function(result.content[0])
        else:
            message.tool_calls = [
                ToolCall(id=call.id, function=_function(call)) for call in result.content
            ]
    usage = result.usage
    return Answer(
        choices=[Choice(message=message, finish_reason=result.finish_reason)],
        model=model,
        usage=Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens),
        cost=cost,
    )


def _function(call: tool_call.FunctionCall) -> Function:
    return Function(name=call.name, arguments=call.arguments)


def _dump(function: Function) -> dict[str, str]:
    return {"name": function.name, "arguments": function.arguments}
