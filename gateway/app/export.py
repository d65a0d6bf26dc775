"""Export of a thread as a Markdown document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gateway.base.calendar import local_time
from gateway.client import ThreadInfo
from gateway.events import SessionEvent, dump_event
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
from gateway.render.sanitize import one_line, sanitize

_PLACE = {"thread", "seq", "at", "turn", "kind"}

LONGEST = 200
"""Characters that are shown of what an event says."""


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
            return [f"## {item.author}", item.text]
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


class Replay:
    """Lines for events, in their order, with times in the zone.

    "" is this machine's zone.
    """

    def __init__(self, zone: str = "") -> None:
        self._zone = zone
        self._before: float | None = None

    def line(self, event: SessionEvent) -> str:
        """One line for the event.

        Time of day, seconds since the one before, its number, turn, kind and rest.
        """
        gap = 0.0 if self._before is None else event.at - self._before
        self._before = event.at
        at = local_time(event.at, self._zone)
        clock = at.strftime("%Y-%m-%d %H:%M:%S.") + f"{at.microsecond // 1000:03}"
        head = f"{clock} {gap:+9.3f}s {event.seq:>5} {event.turn or '-':12} {event.kind:16}"
        return f"{head} {_fields(event)}".rstrip()


def _fields(event: SessionEvent) -> str:
    fields: dict[str, Any] = json.loads(dump_event(event))
    said = " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in fields.items()
        if name not in _PLACE and value not in ("", [], None, False)
    )
    text = one_line(sanitize(said))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\u2026"
