"""Make the body of a chat request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never, cast

from pydantic import BaseModel

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._tools.base import Tool
from teams._tools.schema import ToolSchema
from teams.models._client import ToolChoice
from teams.models._conversation import one_system_message
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    SystemMessage,
    UserMessage,
)

Wire: TypeAlias = dict[str, Any]


def wire_messages(messages: Sequence[LLMMessage], info: ModelInfo) -> list[Wire]:
    """The messages on the wire; ValueError for what the model can't take."""
    if not info.get("multiple_system_messages", True):
        messages = one_system_message(messages)
    return [one for message in messages for one in _message(message, info)]


def wire_tools(
    tools: Sequence[Tool | ToolSchema], tool_choice: ToolChoice, info: ModelInfo
) -> list[Wire]:
    """The tools that a request offers: Ollama has no `tool_choice`.

    For "none" they are left out, of a tool it alone is offered, and "required" is "auto". Raises
    ValueError for what can't be asked.
    """
    if tools and not info["function_calling"]:
        raise ValueError("Model does not support function calling")
    offered = wire_schemas(tools)
    match tool_choice:
        case "auto":
            return offered
        case "none":
            return []
        case "required":
            if not offered:
                raise ValueError("tool_choice is 'required', but there are no tools.")
            return offered
        case tool:
            name = tool.schema["name"]
            if chosen := [each for each in offered if each["function"]["name"] == name]:
                return chosen
            raise ValueError(f"tool_choice references {name!r}, which is not among the tools.")


def wire_schemas(tools: Sequence[Tool | ToolSchema]) -> list[Wire]:
    """The tools as they stand on the wire, with their whole schema."""
    return [_tool(tool if isinstance(tool, Mapping) else tool.schema) for tool in tools]


def wire_format(json_output: bool | type[BaseModel] | None, info: ModelInfo) -> Wire:
    """The form of the answer; ValueError for what the model can't do."""
    match json_output:
        case None | False:
            return {}
        case True:
            if not info["json_output"]:
                raise ValueError("Model does not support JSON output.")
            return {"format": "json"}
        case model:
            if not info.get("structured_output", False):
                raise ValueError("Model does not support structured output.")
            return {"format": model.model_json_schema()}


def _message(message: LLMMessage, info: ModelInfo) -> Iterable[Wire]:
    match message:
        case SystemMessage():
            yield {"role": "system", "content": message.content}
        case UserMessage(content=str()):
            yield {"role": "user", "content": message.content}
        case UserMessage():
            yield from _parts(message.content, info)
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


def _parts(parts: Iterable[str | Image], info: ModelInfo) -> list[Wire]:
    """A message for each text, with the images that follow it."""
    wire: list[Wire] = []
    for part in parts:
        if isinstance(part, Image):
            if not info["vision"]:
                raise ValueError("Model does not support vision and image was provided")
            if not wire:
                wire.append({"role": "user", "content": ""})
            wire[-1].setdefault("images", []).append(part.to_base64())
        elif wire and not wire[-1]["content"]:
            wire[-1]["content"] = part
        else:
            wire.append({"role": "user", "content": part})
    return wire


def _call(call: FunctionCall) -> Wire:
    return {"function": {"name": call.name, "arguments": _arguments(call.arguments)}}


def _arguments(text: str) -> Wire:
    """The object that Ollama wants; a model may have written anything."""
    try:
        arguments: Any = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        arguments = text
    return cast("Wire", arguments) if isinstance(arguments, dict) else {"arguments": arguments}


def _tool(schema: ToolSchema) -> Wire:
    function = {
        "name": schema["name"],
        "description": schema.get("description", ""),
        "parameters": schema.get("parameters") or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": function}
