"""Make the body of a chat completions request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from pydantic import BaseModel

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._tools.schema import ToolSchema
from teams.models._dialect import Request
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    NamedAnswer,
    SystemMessage,
    UserMessage,
    Wire,
)

_FORBIDDEN_IN_NAMES = re.compile(r"[\s<|\\/>]")
_NAME_LENGTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The form of messages for one model."""

    info: ModelInfo
    name_field: bool = True
    name_prefixes: bool = False

    def write(self, messages: Sequence[LLMMessage]) -> list[Wire]:
        """The messages on the wire."""
        wire = [one for message in messages for one in self._message(message)]
        if ModelFamily.is_claude(self.info["family"]):
            wire = _without_blank_texts(wire)
            _without_trailing_space(wire)
        return wire

    def _message(self, message: LLMMessage) -> Iterable[Wire]:
        match message:
            case SystemMessage():
                yield {"role": "system", "content": self._text(message.content)}
            case UserMessage():
                yield self._user(message)
            case AssistantMessage():
                yield self._assistant(message)
            case FunctionExecutionResultMessage():
                for result in message.content:
                    yield {
                        "role": "tool",
                        "content": result.content,
                        "tool_call_id": result.call_id,
                    }
            case _:
                assert_never(message)

    def _user(self, message: UserMessage) -> Wire:
        said = f"{message.source} said:\n" if self.name_prefixes else ""
        wire: Wire = {"role": "user"}
        if isinstance(message.content, str):
            wire["content"] = self._text(said + message.content)
        else:
            parts: list[str | Image] = [*([said] if said else ()), *message.content]
            wire["content"] = [self._part(part) for part in parts]
        return self._named(wire, message.source)

    def _named(self, wire: Wire, name: str) -> Wire:
        if name and self.name_field and not ModelFamily.is_mistral(self.info["family"]):
            wire["name"] = _FORBIDDEN_IN_NAMES.sub("_", name)[:_NAME_LENGTH]
        return wire

    def _part(self, part: str | Image) -> Wire:
        if isinstance(part, str):
            return {"type": "text", "text": self._text(part)}
        return part.to_openai_format()

    def _assistant(self, message: AssistantMessage) -> Wire:
        if isinstance(message.content, str):
            wire: Wire = {"role": "assistant", "content": self._text(message.content)}
            return self._named(wire, message.source) if isinstance(message, NamedAnswer) else wire
        # What the model said along with its calls is kept as their thought.
        return {
            "role": "assistant",
            "content": None if message.thought is None else self._text(message.thought),
            "tool_calls": [_call(call) for call in message.content],
        }

    def _text(self, text: str) -> str:
        return text or (" " if ModelFamily.is_gemini(self.info["family"]) else "")


def tool_definitions(tools: Sequence[ToolSchema]) -> list[Wire]:
    """The tools as they stand on the wire."""
    return [_tool(schema) for schema in tools]


def tool_choice(request: Request) -> Wire | str:
    """The field that says if a tool may or must be called."""
    if request.forced:
        return {"type": "function", "function": {"name": request.forced}}
    return request.choice


def response_format(json_output: bool | type[BaseModel] | None) -> Wire:
    """The part of a request about the form of its answer."""
    match json_output:
        case None | False:
            return {}
        case True:
            return {"response_format": {"type": "json_object"}}
        case model:
            return {"response_format": _schema_format(model)}


def _schema_format(model: type[BaseModel]) -> Wire:
    from openai import pydantic_function_tool  # for start-up: few requests have a schema

    # The SDK's only public way to a schema as strict as the API wants it.
    schema = pydantic_function_tool(model)["function"].get("parameters")
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", model.__name__)[:_NAME_LENGTH]
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": schema, "strict": True},
    }


def _tool(schema: ToolSchema) -> Wire:
    function: Wire = {
        "name": schema["name"],
        "description": schema.get("description", ""),
        "parameters": schema.get("parameters") or {"type": "object", "properties": {}},
    }
    if schema.get("strict", False):
        function["strict"] = True
    return {"type": "function", "function": function}


def _call(call: FunctionCall) -> Wire:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _without_blank_texts(messages: list[Wire]) -> list[Wire]:
    """Anthropic refuses texts of white space alone; results may be empty."""
    told = [
        message if message["role"] == "tool" else {**message, "content": _without_blanks(message)}
        for message in messages
    ]
    return [
        message
        for message in told
        if message["content"] or message["role"] == "tool" or "tool_calls" in message
    ]


def _without_blanks(message: Wire) -> Any:
    match message:
        case {"role": role, "content": str(text)} if not text.strip():
            return " " if role == "system" else None
        case {"content": list()}:
            parts: list[Wire] = message["content"]
            return [part for part in parts if part["type"] != "text" or part["text"].strip()]
        case _:
            return message["content"]


def _without_trailing_space(wire: list[Wire]) -> None:
    """Anthropic refuses a final assistant text that ends in white space."""
    if wire and wire[-1]["role"] == "assistant" and isinstance(wire[-1]["content"], str):
        wire[-1]["content"] = wire[-1]["content"].rstrip()
