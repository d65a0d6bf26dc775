"""Make the messages and tools of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never, cast

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._tools.schema import ToolSchema
from teams.models._dialect import Request
from teams.models._past_calls import arguments_object
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
    Wire,
)
from teams.models.anthropic._signed import SignedAnswers

_NO_TEXT = "(no text)"
"""The first message of the user, who has to begin."""
_GO_ON = "Continue."


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The form of messages for one model."""

    goes_on: bool
    signed: SignedAnswers

    def write(self, messages: Sequence[LLMMessage]) -> tuple[str, list[Wire]]:
        """The system text and the turns."""
        texts = [message.content for message in messages if isinstance(message, SystemMessage)]
        turns: list[Wire] = []
        for message in messages:
            role = "assistant" if isinstance(message, AssistantMessage) else "user"
            if not (blocks := list(self._blocks(message))):
                continue  # the API refuses blank text
            if turns and turns[-1]["role"] == role:
                turns[-1]["content"] += blocks
            else:
                turns.append({"role": role, "content": blocks})
        if not turns or turns[0]["role"] != "user":
            turns.insert(0, _user_turn(_NO_TEXT))
        self._end(turns)
        return "\n".join(texts).strip(), turns

    def _end(self, turns: list[Wire]) -> None:
        """See that the model can answer the request's end."""
        if turns[-1]["role"] != "assistant":
            return
        last = turns[-1]["content"][-1]
        if last["type"] == "text" and self.goes_on:
            turns[-1]["content"][-1] = {**last, "text": last["text"].rstrip()}
        elif last["type"] == "text":
            turns.append(_user_turn(_GO_ON))

    def _blocks(self, message: LLMMessage) -> Iterable[Wire]:
        match message:
            case SystemMessage():
                return ()
            case UserMessage():
                parts = message.content
                return self._parts([parts] if isinstance(parts, str) else parts)
            case AssistantMessage(content=str(text)):
                return _text(text)
            case AssistantMessage():
                calls = cast("list[FunctionCall]", message.content)
                signed = self.signed.find(calls)
                return signed or [*_text(message.thought or ""), *map(_call, calls)]
            case FunctionExecutionResultMessage():
                return map(_result, message.content)
            case _:
                assert_never(message)

    def _parts(self, parts: Sequence[str | Image]) -> Iterable[Wire]:
        for part in parts:
            if isinstance(part, str):
                yield from _text(part)
            else:
                data = part.to_base64()
                source = {"type": "base64", "media_type": part.mime_type, "data": data}
                yield {"type": "image", "source": source}


def tool_arguments(request: Request, turns: Sequence[Wire]) -> Wire:
    """The part of a request about tools.

    Turns with calls need their tools defined, even if none is offered.
    """
    if not request.tools:
        called = _called(turns)
        return {"tools": called, "tool_choice": {"type": "none"}} if called else {}
    if request.forced:
        choice = {"type": "tool", "name": request.forced}
    else:
        choice = {"type": "any" if request.choice == "required" else request.choice}
    return {"tools": [*map(_tool, request.tools)], "tool_choice": choice}


def _called(turns: Sequence[Wire]) -> list[Wire]:
    """Definitions of the tools that were called."""
    blocks = (block for turn in turns for block in turn["content"])
    names = dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use")
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _tool(schema: ToolSchema) -> Wire:
    return {
        "name": schema["name"],
        "description": schema.get("description", ""),
        "input_schema": schema.get("parameters") or {"type": "object"},
    }


def _text(text: str) -> list[Wire]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _user_turn(text: str) -> Wire:
    return {"role": "user", "content": _text(text)}


def _call(call: FunctionCall) -> Wire:
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": arguments_object(call.arguments),
    }


def _result(result: FunctionExecutionResult) -> Wire:
    wire: Wire = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.content.strip():
        wire["content"] = result.content
    if result.is_error:
        wire["is_error"] = True
    return wire
