"""Messages of a chat as the items of a stream."""

from __future__ import annotations

from teams._base.construct import new_id
from teams._contract.turn_record import Item
from teams._messages.chat import TextMessage, ended_by
from teams._messages.events import ThoughtEvent, ToolCallExecutionEvent, ToolCallRequestEvent
from teams.conversable._messages import calls_of, shown_content
from teams.conversable._protocols import Message, Settings
from teams.models._types import FunctionExecutionResult


def items_of(
    message: Message, *, source: str, metadata: dict[str, str], id: str | None = None
) -> list[Item]:
    """Text, if any, calls and results of a message."""
    about: Settings = {"source": source, "metadata": metadata}
    known: Settings = {**about, "id": id or new_id()}
    results = _results(message)
    calls = calls_of(message)
    items: list[Item] = []
    if results:
        items.append(ToolCallExecutionEvent(content=results, **about))
    text = shown_content(message.get("content"))
    if text and calls:
        items.append(ThoughtEvent(content=text, **known))
    elif text and message["role"] not in {"tool", "function"}:
        finish = str(message.get("finish_reason") or "")
        items.append(ended_by(TextMessage(content=text, **known), finish))
    if calls:
        items.append(ToolCallRequestEvent(content=calls, **about))
    return items


def _results(message: Message) -> list[FunctionExecutionResult]:
    given = message.get("tool_responses") or ([message] if message["role"] == "function" else [])
    return [
        FunctionExecutionResult(
            content=shown_content(each.get("content")),
            name=each.get("name") or "",
            call_id=each.get("tool_call_id") or "",
            is_error=shown_content(each.get("content")).startswith("Error: "),
        )
        for each in given
    ]
