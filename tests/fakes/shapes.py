"""Shapes of streams, as real servers send them; each names its source.

Sources are issues of GitHub (`owner/repository#number`), or pages of providers' documentation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from teams.models import FinishReasons
from tests.fakes.wire import events

Called = Sequence[tuple[str, str]]
"""Names and arguments of calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A stream, and what it says; or a part of its `error`."""

    name: str
    source: str
    body: str
    text: str = ""
    calls: Called = ()
    finish: FinishReasons = "stop"
    thought: str | None = None
    error: str = ""
    model: str = "m"


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "choices": [{**choice, **more}]}


def say(text: Any, finish: Any = None) -> dict[str, Any]:
    return chunk({"content": text}, finish)


def call(index: Any = 0, call_id: Any = None, name: Any = None, arguments: Any = None) -> Any:
    """A piece of a call; fields that are None are left out."""
    function = {"name": name, "arguments": arguments}
    given = {"index": index, "id": call_id, "type": "function" if name else None}
    piece = {key: value for key, value in given.items() if value is not None}
    piece["function"] = {key: value for key, value in function.items() if value is not None}
    return {"tool_calls": [piece]}


def data(payload: Any, *, before: str = "data: ", end: str = "\n\n") -> str:
    """The line of an event, with other white space."""
    return f"{before}{json.dumps(payload)}{end}"


def message(**fields: Any) -> str:
    """A whole answer as plain JSON."""
    finish = {"finish_reason": fields.pop("finish")} if "finish" in fields else {}
    return json.dumps({"choices": [{"message": fields, **finish}]})


OSLO, ROME = '{"city": "Oslo"}', '{"city": "Rome"}'
STOP = chunk({}, "stop")
CALLED = chunk({}, "tool_calls")
ONE: Called = [("weather", OSLO)]
TWO: Called = [("weather", OSLO), ("weather", ROME)]


def shape(
    name: str, source: str, *payloads: Any, end: str = "data: [DONE]\n\n", **said: Any
) -> Shape:
    return Shape(name=name, source=source, body=events(*payloads, end=end), **said)


def text(name: str, source: str, *payloads: Any, **more: Any) -> Shape:
    return shape(name, source, *payloads, text="Hi you", **more)


def one(name: str, source: str, *deltas: Any, finish: Any = CALLED) -> Shape:
    """A stream of one call."""
    sent = [*map(chunk, deltas), *([finish] if finish else [])]
    return shape(name, source, *sent, calls=ONE, finish="function_calls")


def two(name: str, source: str, *deltas: Any, finish: Any = CALLED) -> Shape:
    """A stream of two calls."""
    sent = [*map(chunk, deltas), finish]
    return shape(name, source, *sent, calls=TWO, finish="function_calls")
