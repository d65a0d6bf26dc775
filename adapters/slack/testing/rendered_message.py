"""Messages as people see them: text, buttons, tasks and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import unescape
from typing import Any

from adapters.slack.simulator.state import Json, Message, StreamState
from gateway.render.code import change_prose


@dataclass(frozen=True, kw_only=True)
class RenderedMessage:
    """A message as it stands on a screen.

    `text` is what is read, line by line; `fallback` is what a notification says. `tasks` are the
    task cards, title by status. `stream` is None for a message that never was one.
    """

    ts: str
    thread_ts: str
    author: str
    name: str
    text: str
    fallback: str
    buttons: tuple[str, ...]
    tasks: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    reactions: tuple[str, ...]
    edited: bool
    ephemeral: str
    stream: StreamState | None
    blocks: tuple[Json, ...]


def render_message(message: Message, name: str) -> RenderedMessage:
    """A message as people see it."""
    return RenderedMessage(
        ts=message.ts,
        thread_ts=message.thread_ts,
        author=message.user,
        name=message.username or name,
        text="\n".join(_lines(message.blocks)) if message.blocks else message.text,
        fallback=message.text,
        buttons=tuple(_buttons(message.blocks)),
        tasks=tuple(_tasks(message.blocks)),
        files=tuple(file.name for file in message.files),
        reactions=tuple(message.reactions),
        edited=message.edited is not None,
        ephemeral=message.ephemeral,
        stream=message.stream.state if message.stream else None,
        blocks=tuple(message.blocks),
    )


def _lines(blocks: Iterable[Json]) -> Iterable[str]:
    for block in blocks:
        if (read := _READ.get(str(block.get("type")))) is not None:
            yield from read(block)


def _section(block: Json) -> Iterable[str]:
    parts = [block.get("text"), *(block.get("fields") or ())]
    return [part["text"] for part in parts if part]


def _input(block: Json) -> Iterable[str]:
    options = [each["text"]["text"] for each in block["element"].get("options") or ()]
    return [": ".join(filter(None, (block["label"]["text"], " | ".join(options))))]


def _plan(block: Json) -> Iterable[str]:
    return [block["title"], *_lines(block["tasks"])]


def _table(block: Json) -> Iterable[str]:
    return [" | ".join(_cell_text(cell) for cell in row) for row in block.get("rows", ())]


_READ: dict[str, Callable[[Json], Iterable[str]]] = {
    "context": lambda block: [" ".join(each.get("text", "") for each in block["elements"])],
    "divider": lambda _: ["---"],
    "header": lambda block: [block["text"]["text"]],
    "input": _input,
    "markdown": lambda block: [_read_entities(block["text"])],
    "plan": _plan,
    "rich_text": lambda block: [_rich_text(block)],
    "section": _section,
    "table": _table,
    "task_card": lambda block: [f"[{block['status']}] {block['title']}"],
}


def _read_entities(text: str) -> str:
    """Markdown with its entities as characters, but for code."""
    return change_prose(text, lambda part, _: unescape(part))


def _cell_text(cell: Json) -> str:
    return _rich_text(cell) if cell.get("type") == "rich_text" else str(cell.get("text", ""))


def _rich_text(value: Any) -> str:
    """The text of a rich_text block."""
    if isinstance(value, list):
        return "".join(_rich_text(each) for each in value)
    match value:
        case {"type": "user", "user_id": str(user)}:
            return f"<@{user}>"
        case {"type": "link", "url": str(url)}:
            return str(value.get("text") or url)
        case {"text": str(text)}:
            return text
        case {"elements": elements}:
            return _rich_text(elements)
        case _:
            return ""


def _buttons(blocks: Iterable[Json]) -> Iterable[str]:
    for block in blocks:
        for element in block.get("elements") or block.get("actions") or [block.get("accessory")]:
            if element and element.get("type") == "button":
                yield element["text"]["text"]


def _tasks(blocks: Iterable[Json]) -> Iterable[tuple[str, str]]:
    for block in blocks:
        if block.get("type") == "task_card":
            yield block["title"], block["status"]
        elif block.get("type") == "plan":
            yield from _tasks(block["tasks"])
