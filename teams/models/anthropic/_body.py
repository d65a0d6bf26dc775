"""Parts of a request that depend on each other: JSON, thinking, caching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from teams.models._types import Wire
from teams.models.anthropic._signed import THINKING

ANSWER_TOOL = "structured_answer"
"""The tool that a model without JSON schemas has to answer with."""
JSON_ONLY = "Answer with JSON alone: no text around it, and no code fence."

_CACHED = {"type": "ephemeral"}
_LEAST_ANSWER = 4_096
"""Tokens that thinking leaves for the answer."""


def ask_for_json(body: Wire, json_output: bool | type[BaseModel] | None, *, formats: bool) -> None:
    """Ask for JSON; an instruction asks for any, which has no mode."""
    match json_output:
        case None | False:
            pass
        case True:
            body["system"] = f"{body['system']}\n\n{JSON_ONLY}".strip()
        case model:
            if formats:
                _hold_to_schema(body, model)
            else:
                _force_answer_tool(body, model)


def _hold_to_schema(body: Wire, model: type[BaseModel]) -> None:
    from anthropic import transform_schema  # for start-up: few requests have a schema

    form = {"type": "json_schema", "schema": transform_schema(model)}
    body["output_config"] = {**body.get("output_config", {}), "format": form}


def _force_answer_tool(body: Wire, model: type[BaseModel]) -> None:
    tool: Wire = {
        "name": ANSWER_TOOL,
        "description": "Gives the final answer.",
        "input_schema": model.model_json_schema(),
    }
    offered = body.get("tool_choice", {}).get("type") not in (None, "none")
    body["tools"] = [*body.get("tools", []), tool]
    body["tool_choice"] = {"type": "any"} if offered else {"type": "tool", "name": ANSWER_TOOL}


def settle_thinking(body: Wire) -> None:
    """Turn off thinking with a budget where it is refused.

    It does so with a forced tool, and in a tool loop whose first answer's signed thinking is lost:
    "To avoid this requirement, disable `thinking`", says its error. Adaptive thinking knows no such
    rule (platform.claude.com/docs: build-with-claude/thinking-tool-workflows, adaptive-thinking).
    Where thinking stays, the answer is left room.
    """
    thinking: Any = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
    if forced or not _begins_signed(body["messages"]):
        body["thinking"] = {"type": "disabled"}
        for turn in body["messages"]:
            turn["content"] = [block for block in turn["content"] if block["type"] not in THINKING]
    else:
        budget = thinking.get("budget_tokens", 0)
        if body["max_tokens"] <= budget:
            body["max_tokens"] = budget + _LEAST_ANSWER


def mark_for_cache(body: Wire) -> None:
    """Let the provider keep what the next request will begin with.

    That is the tools with the system text, and all up to the last message.
    """
    if body["system"]:
        text = body["system"]
        body["system"] = [{"type": "text", "text": text, "cache_control": _CACHED}]
    elif tools := body.get("tools"):
        body["tools"] = [*tools[:-1], {**tools[-1], "cache_control": _CACHED}]
    content = body["messages"][-1]["content"]
    if content[-1]["type"] not in THINKING:
        content[-1] = {**content[-1], "cache_control": _CACHED}


def _begins_signed(turns: Sequence[Wire]) -> bool:
    """True unless the tool loop under way began without thinking."""
    first: Wire | None = None
    for turn in reversed(turns):
        if turn["role"] == "assistant":
            first = turn
        elif any(block["type"] != "tool_result" for block in turn["content"]):
            break
    return first is None or first["content"][0]["type"] in THINKING
