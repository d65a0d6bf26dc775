"""Model contents as text, and types from JSON schemas."""

from __future__ import annotations

from collections.abc import Sequence

from teams._base.image import Image
from teams._base.json_text import extract_json_from_str
from teams._components.json_schema import schema_to_pydantic_model
from teams.core import FunctionCall
from teams.models._types import FunctionExecutionResult, LLMMessage, UserMessage

Content = str | Sequence[str | Image] | Sequence[FunctionCall] | Sequence[FunctionExecutionResult]


def content_to_str(content: Content) -> str:
    """The content of a model message as text, its parts one per line; an image is `<image>`."""
    if isinstance(content, str):
        return content
    return "\n".join("<image>" if isinstance(part, Image) else str(part) for part in content)


def remove_images(messages: Sequence[LLMMessage]) -> list[LLMMessage]:
    """The messages for a model that does not see; those without parts stay the same objects."""
    return [
        UserMessage(content=content_to_str(message.content), source=message.source)
        if isinstance(message, UserMessage) and not isinstance(message.content, str)
        else message
        for message in messages
    ]


__all__ = ["content_to_str", "extract_json_from_str", "remove_images", "schema_to_pydantic_model"]
