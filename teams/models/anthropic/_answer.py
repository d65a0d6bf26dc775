"""From a message, whole or in events, to a CreateResult."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from teams._base.tool_call import FunctionCall, is_too_large
from teams.models._edge import arguments_text, reported_usage
from teams.models._errors import BadAnswer, ModelDisconnected, ModelRefused
from teams.models._types import CreateResult, FinishReasons
from teams.models.anthropic._signed import Wire

Json: TypeAlias = Mapping[str, Any]

_FINISH_REASONS: Mapping[str, FinishReasons] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",  # without calls it was the tool that holds the answer
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_DELTAS: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
_INPUTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Tokens of the prompt, those of the provider's cache among them."""


class Answer:
    """An answer that grows by events.

    Calls of the `answer_tool` are its text.
    """

    def __init__(self, answer_tool: str | None) -> None:
        self._answer_tool = answer_tool
        self._blocks: list[tuple[Wire, dict[str, list[str]]]] = []
        self._places: dict[int, int] = {}
        self._usage: Wire = {}
        self._ending: Json | None = None

    def add(self, event: Json) -> str:
        """Take an event, and return its text for the reader."""
        match event.get("type"):
            case "message_start":
                self._ending = {}
                message: Json = event.get("message") or {}
                self._count(message.get("usage"))
            case "content_block_start":
                return self._begin_block(event.get("index"), event.get("content_block") or {})
            case "content_block_delta":
                return self._grow_block(event.get("index"), event.get("delta") or {})
            case "message_delta":
                self._ending = event.get("delta") or {}
                self._count(event.get("usage"))
            case _:  # a ping, the end of a block, or something new
                pass
        return ""

    def take(self, message: Json) -> None:
        """Take a whole message."""
        self._ending = message
        self._count(message.get("usage"))
        self._blocks = [(block, {}) for block in message.get("content") or ()]

    def _begin_block(self, index: Any, block: Wire) -> str:
        self._places[index] = len(self._blocks)
        self._blocks.append((block, {}))
        return block.get("text") or "" if block.get("type") == "text" else ""

    def _grow_block(self, index: Any, delta: Json) -> str:
        field = _DELTAS.get(delta.get("type", ""))
        if field is None or index not in self._places:
            return ""
        block, pieces = self._blocks[self._places[index]]
        piece = delta.get(field) or ""
        pieces.setdefault(field, []).append(piece)
        shown = field == "text" or (field == "partial_json" and self._is_answer(block))
        return piece if shown else ""

    def _count(self, usage: Any) -> None:
        counted = cast("Wire", usage) if isinstance(usage, dict) else {}
        self._usage |= {name: count for name, count in counted.items() if count is not None}

    def blocks(self) -> list[Wire]:
        """The blocks as they would have come in a whole message."""
        return [_whole_block(block, pieces) for block, pieces in self._blocks]

    def result(self, *, structured: bool) -> CreateResult:
        """The whole answer.

        `structured`: its text has to be JSON, so a refusal is no answer. Raises ModelDisconnected
        for an answer without an end, BadAnswer for one that never began or was cut before it said
        anything, and ModelRefused for one that was withheld.
        """
        reason = self._reason()
        calls = [
            FunctionCall(
                id=block.get("id") or "",
                name=block.get("name") or "",
                arguments=_arguments(block, pieces),
            )
            for block, pieces in self._blocks
            if block.get("type") == "tool_use" and not self._is_answer(block)
        ]
        text = "".join(self._texts())
        thinking = "".join(
            block.get("thinking", "") for block in self.blocks() if block.get("type") == "thinking"
        )
        self._check(reason, calls, text, structured)
        thoughts = [thinking.strip(), text if calls else ""]
        return CreateResult(
            finish_reason="function_calls" if calls else _FINISH_REASONS.get(reason, "unknown"),
            content=calls or text,
            usage=reported_usage(self._usage, _INPUTS, "output_tokens"),
            cached=False,
            thought="\n\n".join(thought for thought in thoughts if thought) or None,
        )

    def _reason(self) -> str:
        if self._ending is None:
            raise BadAnswer("The answer is not what the API promises")
        if not (reason := self._ending.get("stop_reason")):
            raise ModelDisconnected("The answer ended before it was complete")
        return str(reason)

    def _texts(self) -> Iterable[str]:
        for block, pieces in self._blocks:
            if block.get("type") == "text":
                yield _whole_block(block, pieces).get("text") or ""
            elif self._is_answer(block):
                yield _arguments(block, pieces)

    def _is_answer(self, block: Json) -> bool:
        return block.get("type") == "tool_use" and block.get("name") == self._answer_tool

    def _check(self, reason: str, calls: list[FunctionCall], text: str, structured: bool) -> None:
        if reason == "refusal" and (structured or not (calls or text)):
            details: Any = (self._ending or {}).get("stop_details") or {}
            why = details.get("explanation") or details.get("category") or "it gave no reason"
            raise ModelRefused(f"The model refused to answer: {why}")
        if not calls and not text and _FINISH_REASONS.get(reason) == "length":
            raise BadAnswer("The answer was cut at the token limit before it said anything")


def _whole_block(block: Wire, pieces: Mapping[str, list[str]]) -> Wire:
    grown = {
        name: f"{block.get(name) or ''}{''.join(texts)}"
        for name, texts in pieces.items()
        if name != "partial_json"
    }
    if "partial_json" in pieces:
        grown["input"] = _object(_arguments(block, pieces))
    return {**block, **grown}


def _arguments(block: Json, pieces: Mapping[str, list[str]]) -> str:
    streamed = "".join(pieces.get("partial_json", ())).strip()
    return streamed or arguments_text(block.get("input") or {})


def _object(text: str) -> Any:
    if is_too_large(text):
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}
