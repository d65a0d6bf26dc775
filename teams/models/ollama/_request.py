"""Make the body of a chat request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from pydantic import BaseModel

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._tools.schema import ToolSchema
from teams.models._dialect import Request
from teams.models._past_calls import arguments_object
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
    Wire,
)


def wire_messages(messages: Sequence[LLMMessage]) -> list[Wire]:
    """The messages on the wire."""
    return [one for message in messages for one in _message(message)]


def wire_tools(request: Request) -> list[Wire]:
    """The tools that a request offers: Ollama has no `tool_choice`.

    For "none" they are left out, of a tool it alone is offered, and "required" is "auto". Raises
    ValueError for what can't be asked.
    """
    offered = wire_schemas(request.tools)
    if request.forced:
        return [each for each in offered if each["function"]["name"] == request.forced]
    if request.choice == "required" and not offered:
        raise ValueError("tool_choice is 'required', but there are no tools.")
    return [] if request.choice == "none" else offered


def wire_schemas(tools: Sequence[ToolSchema]) -> list[Wire]:
    """The tools as they stand on the wire, with their whole schema."""
    return [*map(_tool, tools)]


def wire_format(json_output: bool | type[BaseModel] | None) -> Wire:
    """The form of the answer."""
    match json_output:
        case None | False:
            return {}
        case True:
            return {"format": "json"}
        case model:
            return {"format": model.model_json_schema()}


def _message(message: LLMMessage) -> Iterable[Wire]:
    match message:
        case SystemMessage():
            yield {"role": "system", "content": message.content}
        case UserMessage(content=str()):
            yield {"role": "user", "content": message.content}
        case UserMessage():
            yield from _parts(message.content)
        case AssistantMessage(content=str()):
            yield {"role": "assistant", "content": message.content}
        case AssistantMessage():
            calls = [_call(call) for call in message.content if isinstance(call, FunctionCall)]
            thinking = {"thinking": message.thought} if message.thought else {}
            yield {"role": "assistant", "content": "", **thinking, "tool_calls": calls}
        case FunctionExecutionResultMessage():
            for result in message.content:
                yield {"role": "tool", "content": result.content, "tool_name": result.name}
        case _:
            assert_never(message)


def _parts(parts: Iterable[str | Image]) -> list[Wire]:
    """A message for each text, with the images that follow it."""
    wire: list[Wire] = []
    for part in parts:
        if isinstance(part, Image):
            if not wire:
                wire.append({"role": "user", "content": ""})
            wire[-1].setdefault("images", []).append(part.to_base64())
        elif wire and not wire[-1]["content"]:
            wire[-1]["content"] = part
        else:
            wire.append({"role": "user", "content": part})
    return wire


def _call(call: FunctionCall) -> Wire:
    return {"function": {"name": call.name, "arguments": arguments_object(call.arguments)}}


def _tool(schema: ToolSchema) -> Wire:
    function = {
        "name": schema["name"],
        "description": schema.get("description", ""),
        "parameters": schema.get("parameters") or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": function}
