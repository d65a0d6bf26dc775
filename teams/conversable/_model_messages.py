"""Messages of a chat on their way to a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from teams._base.image import Image
from teams._base.tool_call import FunctionCall
from teams._tools.schema import ToolSchema
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

ChatMessage = dict[str, Any]

_FORBIDDEN_IN_NAMES = re.compile(r"[\s<|\\/>]")
_FORBIDDEN_IN_CALLS = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 64
_NO_ID = "function_call"
"""Id of a legacy function call, which has none of its own."""


def spread_tool_responses(messages: Iterable[Mapping[str, Any]]) -> list[ChatMessage]:
    """Put each tool response in the place of the message that carries it.

    A message of another role, by which a person broke off the calls, follows its responses.
    """
    spread: list[ChatMessage] = []
    for message in messages:
        responses = message.get("tool_responses")
        spread += map(dict, responses or ())
        if not responses or message.get("role") != "tool":
            spread.append({key: value for key, value in message.items() if key != "tool_responses"})
    return spread


def fill_templates(
    messages: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any] | None,
    *,
    allow_format: bool | None,
) -> list[ChatMessage]:
    """The messages without their contexts, which are filled into their contents."""
    return [
        {
            **{key: value for key, value in message.items() if key != "context"},
            "content": fill_template(
                message.get("content"), message.get("context", context), allow_format=allow_format
            ),
        }
        for message in messages
    ]


def fill_template(
    content: Any, context: Mapping[str, Any] | None, *, allow_format: bool | None
) -> Any:
    """A callable content's text, or a text with the context's values in place of their names."""
    if callable(content):
        return content(context or {})
    return (
        content.format(**context)
        if allow_format and context and isinstance(content, str)
        else content
    )


def clean_call_name(name: str) -> str:
    """The name of a function as providers take it."""
    return _FORBIDDEN_IN_CALLS.sub("_", name)[:_NAME_LENGTH]


def wire_message(message: ChatMessage) -> ChatMessage:
    """The message as OpenAI's API takes it: a name has no white space."""
    if not isinstance(name := message.get("name"), str):
        return message
    return {**message, "name": _FORBIDDEN_IN_NAMES.sub("_", name)[:_NAME_LENGTH]}


def model_messages(messages: Iterable[ChatMessage], *, images: bool) -> list[LLMMessage]:
    """The messages as the clients of `teams.models` take them.

    Without `images` a text stands for each. ValueError for an image that is only an address.
    """
    made: list[LLMMessage] = []
    called: dict[str, str] = {}
    for message in messages:
        content, name = message.get("content"), str(message.get("name") or "")
        match message.get("role"):
            case "system" | "developer":
                made.append(SystemMessage(content=_text(content)))
            case "assistant":
                calls = _calls(message)
                called = {call.id: call.name for call in calls} or called
                text = _text(content)
                made.append(
                    AssistantMessage(content=calls, thought=text or None, source=name)
                    if calls
                    else AssistantMessage(content=text, source=name)
                )
            case "tool" | "function":
                call_id = message.get("tool_call_id") or _NO_ID
                result = FunctionExecutionResult(
                    content=_text(content), name=called.get(call_id, name), call_id=call_id
                )
                if made and isinstance(last := made[-1], FunctionExecutionResultMessage):
                    last.content.append(result)
                else:
                    made.append(FunctionExecutionResultMessage(content=[result]))
            case _:
                said = _parts(content, images) if isinstance(content, list) else _text(content)
                made.append(UserMessage(content=said, source=name or "user"))
    return made


def tool_schemas(options: Mapping[str, Any]) -> list[ToolSchema]:
    """The schemas of the `tools` and `functions` of a request."""
    functions: list[Any] = [tool["function"] for tool in options.get("tools") or ()]
    return [*functions, *(options.get("functions") or ())]


def _calls(message: Mapping[str, Any]) -> list[FunctionCall]:
    called: list[tuple[str, Any]] = [
        (call.get("id") or _NO_ID, call["function"]) for call in message.get("tool_calls") or ()
    ]
    if legacy := message.get("function_call"):
        called.append((_NO_ID, legacy))
    return [
        FunctionCall(id=call_id, name=function["name"], arguments=function.get("arguments") or "{}")
        for call_id, function in called
    ]


def _text(content: Any) -> str:
    if not isinstance(content, list):
        return "" if content is None else str(content)
    return "\n".join(part if isinstance(part, str) else part.get("text") or "" for part in content)


def _parts(content: Sequence[Any], images: bool) -> list[str | Image]:
    return [part if isinstance(part, str) else _part(part, images) for part in content]


def _part(part: Mapping[str, Any], images: bool) -> str | Image:
    if "image_url" not in part:
        return part.get("text") or ""
    if not images:
        return "<image>"
    image = part["image_url"]
    url = str(image["url"] if isinstance(image, dict) else image)
    if not url.startswith("data:"):
        raise ValueError(f"This provider takes images as data, not by their address: {url!r}.")
    return Image.from_uri(url)
