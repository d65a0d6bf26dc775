"""A thread as a Markdown document for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from gateway.client import ThreadInfo
from gateway.events import SessionEvent
from gateway.items import (
    AgentItem,
    HandoffItem,
    HumanItem,
    News,
    NoticeItem,
    RequestItem,
    ToolItem,
    TurnItem,
    WaitItem,
)
from gateway.picture import HOLD, Picture
from gateway.render.sanitize import one_line


def markdown(
    thread: ThreadInfo, events: Iterable[SessionEvent], feedback: Mapping[str, int] | None = None
) -> str:
    """The transcript.

    Messages keep their own Markdown; what the gateway adds is in quotes.

    `feedback`: how many have called an answer "good" or "bad".
    """
    title = " ".join(thread.title.split()) or thread.id
    parts = [f"# {title}", f"Team: {thread.team}"]
    if feedback:
        rated = ", ".join(f"{count} {word}" for word, count in sorted(feedback.items()))
        parts.append(f"Rated answers: {rated}")
    picture = Picture()
    for event in events:
        picture.apply(event)
        for item in picture.news:
            parts += _parts(item)
    return "\n\n".join(parts) + "\n"


def _parts(item: News) -> list[str]:
    match item:
        case HumanItem():
            files = _quote(item.attached) if item.files else ""
            return [f"## {item.author}", *filter(None, (item.text, files))]
        case AgentItem(open=False) if item.text or item.hidden:
            end = [_quote(item.mark)] if item.mark else []
            return [f"## {item.agent.name}", item.text + item.hidden, *end]
        case ToolItem() if item.state != "running":
            ending = "answered" if item.ending == "done" else item.ending
            return [_quote(f"{item.tool} {ending}:"), _fenced(item.result)]
        case ToolItem():
            line = f"{item.agent.name} uses {item.tool}: {_arguments(item.written)}"
        case HandoffItem():
            line = f"{item.agent.name} hands off to {item.target.name}"
        case RequestItem(outcome=""):
            line = f"{item.agent.name or 'the team'} asks: {item.prompt}"
        case RequestItem():
            line = f"{item.by}: {item.outcome}" if item.by else item.outcome
        case NoticeItem():
            line = item.told
        case WaitItem(key=key, over=False) if key == HOLD:
            line = item.text
        case TurnItem(early=True):
            line = f"the turn was {item.outcome}"
        case _:
            return []
    return [_quote(line)]


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _fenced(text: str) -> str:
    """A code block whose fence the text can't close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _arguments(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return one_line(arguments)
