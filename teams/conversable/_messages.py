"""Messages as they are stored, shown, and sent to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from teams._base.tool_call import FunctionCall
from teams.conversable._protocols import Given, Message
from teams.models._edge import arguments_text

KEPT = (
    "content",
    "function_call",
    "tool_calls",
    "left_out",
    "finish_reason",
    "tool_responses",
    "tool_call_id",
    "name",
    "context",
)
"""Keys that a stored message may have, beside its role."""

UNSENT = ("left_out", "finish_reason")
"""Keys for who makes the calls and for people: no model knows them."""

IMAGE = "<image>"


def normalised(
    message: Message | str, role: Literal["assistant", "user"], *, speaker: str
) -> Message:
    """Form in which a message is stored; ValueError if it says nothing."""
    given: Message = {"content": message} if isinstance(message, str) else message
    stored: Message = {key: given[key] for key in KEPT if given.get(key) is not None}
    calls = bool(stored.get("function_call") or stored.get("tool_calls"))
    if "content" not in stored:
        if not calls:
            raise ValueError(
                "Message can't be converted into a valid ChatCompletion message. "
                "Either content or function_call must be provided."
            )
        stored["content"] = None
    stored["role"] = "assistant" if calls else _role(given, role)
    if given.get("role") in {"function", "tool"} and "tool_responses" in stored:
        stored["tool_responses"] = [
            {**response, "content": str(response["content"])}
            for response in stored["tool_responses"]
        ]
    if not calls:
        stored.setdefault("name", speaker)
    return stored


def _role(given: Message, role: str) -> str:
    if given.get("role") in {"function", "tool"}:
        return given["role"]
    return given.get("override_role", role)


def calls_of(message: Given) -> list[FunctionCall]:
    """The calls of a message; a legacy one has no id."""
    asked: list[Given] = [*(message.get("tool_calls") or ())]
    if legacy := message.get("function_call"):
        asked.append({"function": legacy})
    return [_call(call.get("id") or "", call.get("function") or {}) for call in asked]


def _call(call_id: str, function: Given) -> FunctionCall:
    name, arguments = str(function.get("name") or ""), function.get("arguments") or ""
    written = arguments if isinstance(arguments, str) else arguments_text(arguments)
    return FunctionCall(id=call_id, name=name, arguments=written)


def content_text(content: object) -> str:
    """Text of a message's content: its own, or that of its parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = cast("Sequence[object]", content)
    return "\n".join(text for part in parts if (text := _part_text(part)) is not None)


def shown_content(content: object) -> str:
    """Text of a message's content with a mark for each image."""
    if not isinstance(content, list):
        return "" if content is None else str(content)
    parts = cast("Sequence[object]", content)
    return "".join(IMAGE if (text := _part_text(part)) is None else text for part in parts)


def _part_text(part: object) -> str | None:
    """Text of a part; None for what is not text."""
    if isinstance(part, str):
        return part
    fields = cast("Given", part)
    return fields["text"] if fields.get("type") == "text" else None


def says_terminate(message: Message) -> bool:
    """True if the message is the word TERMINATE and nothing else."""
    return content_text(message.get("content")) == "TERMINATE"
