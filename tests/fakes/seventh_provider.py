"""A seventh provider: Cohere's chat API, as a test of the design.

Written after docs.cohere.com: reference/chat, docs/streaming, docs/tool-use-streaming.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import httpx
from typing_extensions import override

from teams.core import FunctionCall
from teams.models import (
    AssistantMessage,
    FinishReasons,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from teams.models._dialect import Dialect, Json, Request, fields_of, objects_of
from teams.models._draft import Draft
from teams.models._endpoint import ModelEndpoint
from teams.models._errors import BadAnswer
from teams.models._tokens import request_tokens
from teams.models._transport import EventLines, HttpTransport
from teams.models._types import Wire
from teams.models._wire import WireClient
from teams.tools import ToolSchema

_CHOICES = {"required": {"tool_choice": "REQUIRED"}, "none": {"tool_choice": "NONE"}}


@dataclass(kw_only=True)
class CohereDialect(Dialect):
    """The form for one model."""

    finishes: ClassVar[Mapping[str, FinishReasons]] = {
        "COMPLETE": "stop",
        "STOP_SEQUENCE": "stop",
        "TOOL_CALL": "function_calls",
        "MAX_TOKENS": "length",
    }
    prompt_counts: ClassVar[Sequence[str]] = ("input_tokens",)
    completion_count: ClassVar[str] = "output_tokens"

    model: str

    @override
    def body(self, request: Request) -> Wire:
        tools = [each for each in request.tools if request.forced in ("", each["name"])]
        choice = _CHOICES.get("required" if request.forced else request.choice, {})
        return {
            "model": self.model,
            "messages": [one for message in request.messages for one in _message(message)],
            **({"tools": [*map(_tool, tools)], **choice} if tools else {}),
            **_form(request),
            **request.extra,
            "stream": request.stream,
        }

    @override
    def count(self, messages: Sequence[LLMMessage], tools: Sequence[ToolSchema]) -> int:
        wire = [one for message in messages for one in _message(message)]
        return request_tokens(wire, [*map(_tool, tools)], encoding="cl100k_base")

    @override
    def decode(self, event: Json, draft: Draft) -> str:
        kind, said = event.get("type"), fields_of(fields_of(event.get("delta")).get("message"))
        draft.begun = True
        match kind:
            case None if "message" in event:
                _end(event, draft)
                return _read_whole(fields_of(event["message"]), draft)
            case "content-start" | "content-delta":
                return _read_part(fields_of(said.get("content")), draft)
            case "tool-plan-delta":
                draft.think(said.get("tool_plan") or "")
            case "tool-call-start" | "tool-call-delta":
                _read_call(event.get("index"), fields_of(said.get("tool_calls")), draft)
            case "message-end":
                _end(fields_of(event.get("delta")), draft)
                draft.complete = True
            case str():
                pass
            case _:
                raise BadAnswer("The answer is not what the API promises")
        return ""


def _message(message: LLMMessage) -> list[Wire]:
    if isinstance(message, FunctionExecutionResultMessage):
        return [
            {"role": "tool", "tool_call_id": each.call_id, "content": each.content}
            for each in message.content
        ]
    match message:
        case SystemMessage():
            return [{"role": "system", "content": message.content}]
        case UserMessage():
            parts = [message.content] if isinstance(message.content, str) else message.content
            return [{"role": "user", "content": [*map(_part, parts)]}]
        case AssistantMessage(content=str(text)):
            return [{"role": "assistant", "content": text}]
        case AssistantMessage():
            calls = [_call(each) for each in message.content if isinstance(each, FunctionCall)]
            return [{"role": "assistant", "tool_plan": message.thought or "", "tool_calls": calls}]


def _call(call: FunctionCall) -> Wire:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _part(part: object) -> Wire:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": getattr(part, "data_uri", "")}}


def _tool(tool: ToolSchema) -> Wire:
    parameters = tool.get("parameters") or {"type": "object", "properties": {}}
    function = {"name": tool["name"], "description": tool.get("description", "")}
    return {"type": "function", "function": {**function, "parameters": parameters}}


def _form(request: Request) -> Wire:
    match request.json_output:
        case None | False:
            return {}
        case True:
            return {"response_format": {"type": "json_object"}}
        case model:
            schema = model.model_json_schema()
            return {"response_format": {"type": "json_object", "json_schema": schema}}


def _read_whole(said: Json, draft: Draft) -> str:
    draft.think(said.get("tool_plan") or "")
    for call in objects_of(said.get("tool_calls")):
        function = fields_of(call.get("function"))
        draft.add_call(call.get("id") or "", function.get("name") or "", function.get("arguments"))
    return "".join([_read_part(part, draft) for part in objects_of(said.get("content"))])


def _read_part(part: Json, draft: Draft) -> str:
    draft.think(part.get("thinking") or "")
    return draft.say(part.get("text") or "")


def _read_call(index: object, call: Json, draft: Draft) -> None:
    function = fields_of(call.get("function"))
    arguments = function.get("arguments") or ""
    draft.continue_call(index, call.get("id") or "", function.get("name") or "", arguments)


def _end(ending: Json, draft: Draft) -> None:
    draft.finish = ending.get("finish_reason") or ""
    draft.count(fields_of(ending.get("usage")).get("tokens"))


def cohere_client(dialect: CohereDialect, http: httpx.AsyncClient, key: str) -> WireClient:
    """A client that asks over this connection."""
    endpoint = ModelEndpoint(
        model=dialect.model, endpoint=str(http.base_url), key_variable="CO_API_KEY", secrets=(key,)
    )
    http.headers["Authorization"] = f"Bearer {key}"
    transport = HttpTransport(http=http, path="/v2/chat", endpoint=endpoint, framing=EventLines)
    return WireClient(dialect, transport, endpoint)
