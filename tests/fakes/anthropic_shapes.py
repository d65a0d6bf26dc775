"""Shapes of streams of servers that speak Anthropic's API."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.shapes import ONE, OSLO, ROME, TWO, Shape, shape


def block(index: int, start: Any, *deltas: Any) -> list[Any]:
    """The events of one of Anthropic's blocks."""
    grown = [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
    begun = {"type": "content_block_start", "index": index, "content_block": start}
    return [begun, *grown, {"type": "content_block_stop", "index": index}]


def spoken(*pieces: str, index: int = 0, start: str = "") -> list[Any]:
    deltas = [{"type": "text_delta", "text": each} for each in pieces]
    return block(index, {"type": "text", "text": start}, *deltas)


def used(call_id: str, *pieces: str, index: int = 0, given: Any = None) -> list[Any]:
    start = {"type": "tool_use", "id": call_id, "name": "weather", "input": given or {}}
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces]
    return block(index, start, *deltas)


def ended(reason: str | None = "end_turn") -> list[Any]:
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 2},
    }
    return [delta, {"type": "message_stop"}]


def claude(name: str, source: str, *payloads: Any, end: str = "", **said: Any) -> Shape:
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 7}}}
    return shape(name, source, begun, *payloads, end=end, **said)


_STREAMING = "platform.claude.com/docs: build-with-claude/streaming"
_STOPS = "platform.claude.com/docs: build-with-claude/handling-stop-reasons"
_PING = {"type": "ping"}
_OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

ANTHROPIC = [
    claude("text", _STREAMING, _PING, *spoken("Hi", " you"), *ended(), text="Hi you"),
    claude(
        "text in its start",
        "mlx-node/mlx-node#45",
        *spoken(" you", start="Hi"),
        *ended(),
        text="Hi you",
    ),
    claude(
        "two texts",
        "strands-agents/harness-sdk#3568",
        *spoken("Hi"),
        *block(1, {"type": "server_tool_use", "id": "s", "name": "web_search"}),
        *spoken(" you", index=2),
        *ended(),
        text="Hi you",
    ),
    claude(
        "a call in pieces",
        _STREAMING,
        *used("c1", "", '{"city"', ': "Oslo"}'),
        *ended("tool_use"),
        calls=ONE,
        finish="function_calls",
    ),
    claude(
        "a call at once",
        "rynfar/meridian#185",
        *used("c1", given={"city": "Oslo"}),
        *ended("tool_use"),
        calls=ONE,
        finish="function_calls",
    ),
    claude(
        "two calls of one id",
        "sgl-project/sglang#24293",
        *used("c1", OSLO),
        *used("c1", ROME, index=1),
        *ended("tool_use"),
        calls=TWO,
        finish="function_calls",
    ),
    claude(
        "text within a call",
        "sgl-project/sglang#24293",
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": "weather", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hm"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": OSLO},
        },
        *ended("tool_use"),
        calls=ONE,
        finish="function_calls",
        thought="Hm",
    ),
    claude(
        "thinking",
        _STREAMING,
        *block(
            0,
            {"type": "thinking", "thinking": ""},
            {"type": "thinking_delta", "thinking": "Hm."},
            {"type": "signature_delta", "signature": "s"},
        ),
        *spoken("Hi you", index=1),
        *ended(),
        text="Hi you",
        thought="Hm.",
    ),
    claude(
        "events and deltas of the future",
        _STREAMING,
        {"type": "weather_report"},
        *block(
            0,
            {"type": "text", "text": ""},
            {"type": "citations_delta", "citation": {}},
            {"type": "text_delta", "text": "Hi you"},
        ),
        *ended(),
        text="Hi you",
    ),
    claude(
        "cut at the limit",
        _STOPS,
        *spoken("Hi you"),
        *ended("max_tokens"),
        text="Hi you",
        finish="length",
    ),
    claude(
        "a refusal after text",
        _STOPS,
        *spoken("Hi you"),
        *ended("refusal"),
        text="Hi you",
        finish="content_filter",
    ),
    claude(
        "no message_stop", "tombii/better-ccflare#307", *spoken("Hi you"), ended()[0], text="Hi you"
    ),
    claude(
        "pings in place of message_stop",
        "tombii/better-ccflare#307",
        *spoken("Hi you"),
        ended()[0],
        _PING,
        _PING,
        text="Hi you",
    ),
    claude(
        "no message_delta",
        "maximhq/bifrost#6081",
        *spoken("Hi you"),
        error="before it was complete",
    ),
    claude(
        "overloaded after text",
        "karthink/gptel#1512",
        *spoken("Hi"),
        _OVERLOADED,
        error="Overloaded",
    ),
    Shape(
        name="plain JSON",
        source="docs.litellm.ai: fake_stream",
        body=json.dumps(
            {
                "type": "message",
                "content": [{"type": "text", "text": "Hi you"}],
                "stop_reason": "end_turn",
            }
        ),
        text="Hi you",
    ),
]
