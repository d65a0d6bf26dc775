"""Messages of a chat on their way to a model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from teams._base.image import Image
from teams._base.templates import fill
from teams._base.tool_call import FunctionCall
from teams.conversable._protocols import Given, Message, Settings
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

_FORBIDDEN_IN_NAMES = re.compile(r"[\s<|\\/>]")
_FORBIDDEN_IN_CALLS = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 64
_NO_ID = "function_call"
"""Id of a legacy function call, which has none of its own."""


def spread_tool_responses(messages: Iterable[Message]) -> list[Message]:
    """Put tool responses in the place of the message that carries them.

    A message of another role, by which a person broke off the calls, follows its responses.
    """
    spread: list[Message] = []
    for message in messages:
        responses = message.get("tool_responses")
        spread += responses or ()
        if "left_out" in message:  # for who makes the calls; no model knows the key
            spread.append({key: value for key, value in message.items() if key != "left_out"})
        elif not responses:
            spread.append(message)
        elif message.get("role") != "tool":
            spread.append({key: value for key, value in message.items() if key != "tool_responses"})
    return spread


def fill_templates(
    messages: Iterable[Message], context: Given | None, *, texts: bool
) -> list[Message]:
    """The messages without their contexts, which are filled into contents.

    The request's context, that of its last message, goes over a message's own.
    """
    filled: list[Message] = []
    for message in messages:
        content = message.get("content")
        if texts or callable(content) or "context" in message:
            known: Settings = {**(message.get("context") or {}), **(context or {})}
            content = fill_template(content, known, texts=texts)
            message = {**message, "content": content}
            message.pop("context", None)
        filled.append(message)
    return filled


def fill_template(content: object, context: Given, *, texts: bool) -> Any:
    """The content with the context in it; with `texts`, also in texts."""
    if callable(content):
        return content(context)
    return fill(content, **context) if texts and context and isinstance(content, str) else content


def clean_call_name(name: str) -> str:
    """The name of a function as providers take it."""
    return _FORBIDDEN_IN_CALLS.sub("_", name)[:_NAME_LENGTH]


def wire_message(message: Message) -> Message:
    """The message with a name that OpenAI's API takes."""
    name = str(message.get("name") or "")
    fitting = _FORBIDDEN_IN_NAMES.sub("_", name)[:_NAME_LENGTH]
    return message if fitting == name else {**message, "name": fitting}


def model_messages(messages: Iterable[Message], *, images: bool) -> list[LLMMessage]:
    """The messages as the clients of `teams.models` take them.

    Without `images` a text stands for each. ValueError for an image that is only an address.
    """
    made: list[LLMMessage] = []
    called: dict[str, str] = {}
    for message in messages:
        parts, name = _parts(message.get("content")), str(message.get("name") or "")
        text = "\n".join(part.get("text") or "" for part in parts)
        match message.get("role"):
            case "system" | "developer":
                made.append(SystemMessage(content=text))
            case "assistant" if calls := _calls(message):
                called = {call.id: call.name for call in calls}
                made.append(AssistantMessage(content=calls, thought=text or None, source=name))
            case "assistant":
                made.append(AssistantMessage(content=text, source=name))
            case "tool" | "function":
                call_id = message.get("tool_call_id") or _NO_ID
                name = called.get(call_id, name)
                result = FunctionExecutionResult(content=text, name=name, call_id=call_id)
                if made and isinstance(last := made[-1], FunctionExecutionResultMessage):
                    last.content.append(result)
                else:
                    made.append(FunctionExecutionResultMessage(content=[result]))
            case _:
                shown = [_shown(part, images) for part in parts]
                content = shown if any("image_url" in part for part in parts) else text
                made.append(UserMessage(content=content, source=name or "user"))
    return made


def _calls(message: Given) -> list[FunctionCall]:
    calls: list[Any] = [*(message.get("tool_calls") or ())]
    if legacy := message.get("function_call"):
        calls.append({"function": legacy})
    return [
        FunctionCall(
            id=call.get("id") or _NO_ID,
            name=call["function"]["name"],
            arguments=call["function"].get("arguments") or "{}",
        )
        for call in calls
    ]


def _parts(content: object) -> list[Settings]:
    """The parts of a content; of a text, the one."""
    given = cast("list[Any]", content if isinstance(content, list) else [content])
    return [part if isinstance(part, dict) else {"text": str(part or "")} for part in given]


def _shown(part: Given, images: bool) -> str | Image:
    if "image_url" not in part:
        return part.get("text") or ""
    if not images:
        return "<image>"
    image = part["image_url"]
    url: str = image if isinstance(image, str) else image["url"]
    if not url.startswith("data:"):
        raise ValueError(f"This provider takes images as data, not by their address: {url!r}.")
    return Image.from_uri(url)
