"""Messages of a chat on their way to a model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from teams._base.image import Image
from teams._base.templates import fill
from teams.conversable._messages import UNSENT, calls_of
from teams.conversable._protocols import Given, Message, Settings
from teams.models._types import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    NamedAnswer,
    SystemMessage,
    UserMessage,
)

_FORBIDDEN_IN_CALLS = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 64


def spread_tool_responses(messages: Iterable[Message]) -> list[Message]:
    """Put tool responses in the place of the message that carries them.

    A message of another role, by which a person broke off the calls, follows its responses.
    """
    spread: list[Message] = []
    for message in messages:
        responses = message.get("tool_responses")
        spread += responses or ()
        if not message.keys().isdisjoint(UNSENT):
            spread.append({key: value for key, value in message.items() if key not in UNSENT})
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


class _Part(Image):
    """A part of a content that is no text, in OpenAI's words."""

    __slots__ = ("_written",)

    def __init__(self, written: Settings) -> None:
        self._written, self._base64, self._pillow = written, None, None

    def __repr__(self) -> str:
        return f"<Part {self._written.get('type')}>"

    def to_openai_format(self, detail: object = "auto") -> Settings:
        return self._written

    def to_base64(self) -> str:
        """The image in base64; ValueError for an address, or no image."""
        if self._base64 is None:
            image = Image.from_uri(self._uri())
            self._base64, self.mime_type = image.to_base64(), image.mime_type
        return self._base64

    def _uri(self) -> str:
        if "image_url" not in self._written:
            raise ValueError(f"This provider takes no {self._written.get('type')!r} in a message.")
        given = self._written["image_url"]
        url: str = given if isinstance(given, str) else given["url"]
        if not url.startswith("data:"):
            raise ValueError(f"This provider takes images as data, not by their address: {url!r}.")
        return url


def model_messages(messages: Iterable[Message], *, images: bool) -> list[LLMMessage]:
    """The messages as the clients of `teams.models` take them.

    Without `images` a text stands for each.
    """
    made: list[LLMMessage] = []
    called: dict[str, str] = {}
    for message in messages:
        content, name = message.get("content"), str(message.get("name") or "")
        parts = () if isinstance(content, str) else _parts(content)
        text = content if isinstance(content, str) else "\n".join(map(_text, parts))
        match message.get("role"):
            case "system" | "developer":
                made.append(SystemMessage(content=text))
            case "assistant" if calls := calls_of(message):
                called = {call.id: call.name for call in calls}
                made.append(AssistantMessage(content=calls, thought=text or None, source=name))
            case "assistant":
                made.append(NamedAnswer(content=text, source=name))
            case "tool" | "function":
                call_id = message.get("tool_call_id") or ""
                name = called.get(call_id, name)
                result = FunctionExecutionResult(content=text, name=name, call_id=call_id)
                if made and isinstance(last := made[-1], FunctionExecutionResultMessage):
                    last.content.append(result)
                else:
                    made.append(FunctionExecutionResultMessage(content=[result]))
            case _:
                is_text = all(map(_is_text, parts))
                shown = text if is_text else [_shown(part, images) for part in parts]
                made.append(UserMessage(content=shown, source=name))
    return made


def _parts(content: object) -> list[Settings]:
    """The parts of a content; of a text, the one."""
    given = cast("list[Any]", content if isinstance(content, list) else [content])
    return [part if isinstance(part, dict) else {"text": str(part or "")} for part in given]


def _is_text(part: Given) -> bool:
    return part.get("type", "text") == "text" and "image_url" not in part


def _text(part: Given) -> str:
    return part.get("text") or ""


def _shown(part: Settings, images: bool) -> str | Image:
    if _is_text(part):
        return _text(part)
    return _Part(part) if images else "<image>"
