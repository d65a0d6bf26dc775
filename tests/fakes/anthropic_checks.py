"""Requests that Anthropic's Messages API refuses with status 400.

The first finding wins. Where it is written: platform.claude.com/docs, api/messages (fields, roles,
tools), api/errors (prefill), build-with-claude/thinking, thinking-tool-workflows and
thinking-troubleshooting (budgets, signatures, sampling, forced tools), structured-outputs,
prompt-caching, and agents-and-tools/tool-use/handle-tool-calls (order of results). Sentences about
blank text, a first message and undefined tools are those that users of the API quote.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

FIELDS = frozenset(
    (
        *("cache_control", "container", "inference_geo", "max_tokens", "messages", "metadata"),
        *("model", "output_config", "service_tier", "stop_sequences", "stream", "system"),
        *("temperature", "thinking", "tool_choice", "tools", "top_k", "top_p"),
    )
)
BLOCKS = {
    "user": ("text", "image", "tool_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
}
THINKING = ("thinking", "redacted_thinking")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_VERSION = re.compile(r"claude-[a-z]+-(\d)(?:-(\d{1,2}))?(?!\d)")


class Refused(Exception):
    """A refused request, with the API's sentence."""


def check_request(body: Mapping[str, Any], model: str, signatures: Collection[str]) -> None:
    """Raise Refused for what the API refuses.

    `signatures` are those that it has given.
    """
    for name in body:
        _require(name in FIELDS, f"{name}: Extra inputs are not permitted")
    _require(isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
    messages: Any = body.get("messages")
    _require(messages, "messages: at least one message is required")
    for index, message in enumerate(messages):
        _check_message(f"messages.{index}", message, signatures)
    _require(messages[0]["role"] == "user", 'messages: first message must use the "user" role')
    _check_system(body.get("system"))
    _check_results(messages)
    _check_end(messages[-1], _version(model))
    _check_tools(body, messages)
    _check_thinking(body, _version(model))
    _check_format(body.get("output_config", {}), _version(model))
    marked = sum(1 for part in _parts(body) if "cache_control" in part)
    _require(marked <= 4, f"A maximum of 4 blocks with cache_control may be provided. {marked}")
    _require(set(body.get("metadata", {})) <= {"user_id"}, "metadata: Extra inputs")


def _version(model: str) -> tuple[int, int]:
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (3, 0)


def _require(condition: object, message: str) -> None:
    if not condition:
        raise Refused(message)


def _parts(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if isinstance(system := body.get("system"), list):
        yield from system
    yield from body.get("tools", ())
    for message in body["messages"]:
        yield from message["content"]


def _check_system(system: object) -> None:
    if isinstance(system, list):
        for block in system:
            _require(block["text"].strip(), "system: text content blocks must be non-empty")


def _check_message(where: str, message: Mapping[str, Any], signatures: Collection[str]) -> None:
    role, content = message.get("role"), message.get("content")
    _require(set(message) == {"role", "content"}, f"{where}: Extra inputs are not permitted")
    _require(role in BLOCKS, f'{where}: Unexpected role "{role}".')
    _require(isinstance(content, list) and content, f"{where}: must have non-empty content")
    assert isinstance(content, list)
    for block in content:
        _check_block(where, str(role), block, signatures)


def _check_block(
    where: str, role: str, block: Mapping[str, Any], signatures: Collection[str]
) -> None:
    kind = block.get("type")
    _require(kind in BLOCKS[role], f"{where}: Input tag {kind!r} not expected for {role}")
    match kind:
        case "text":
            blank = not block["text"].strip()
            _require(not blank, "messages: text content blocks must contain non-whitespace text")
        case "image":
            source = block["source"]
            _require(source["media_type"] in IMAGES, f"{where}: media_type is not supported")
        case "tool_use":
            _require(CALL_ID.fullmatch(block["id"]), f"{where}: tool_use.id: bad pattern")
            _require(isinstance(block["input"], dict), f"{where}: input should be a dictionary")
        case "tool_result":
            _require("content" not in block or block["content"].strip(), f"{where}: blank content")
        case "thinking" | "redacted_thinking":
            seal = block.get("signature") or block.get("data")
            _require(seal in signatures, f"{where}: Invalid `signature` in `thinking` block")
            _require("cache_control" not in block, f"{where}: cache_control: Extra inputs")
        case _:
            pass


def _check_results(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check that the results of each message's calls open the next one."""
    open_calls: list[str] = []
    ids: list[str] = []
    for index, message in enumerate(messages):
        content = message["content"]
        results = [each["tool_use_id"] for each in content if each["type"] == "tool_result"]
        _require(
            sorted(results) == sorted(open_calls),
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after, or `tool_result` blocks without their `tool_use`: {open_calls}, {results}",
        )
        first = [each["type"] == "tool_result" for each in content]
        _require(first == sorted(first, reverse=True), f"messages.{index}: results come first")
        open_calls = [each["id"] for each in content if each["type"] == "tool_use"]
        ids += open_calls
    _require(not open_calls, "`tool_use` ids were found without `tool_result` blocks at the end")
    _require(len(ids) == len(set(ids)), "messages: `tool_use` ids must be unique")


def _check_end(last: Mapping[str, Any], version: tuple[int, int]) -> None:
    if last["role"] != "assistant":
        return
    _require(
        version < (4, 6),
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message.",
    )
    text = last["content"][-1].get("text", "")
    _require(
        text == text.rstrip(),
        "messages: final assistant content cannot end with trailing whitespace",
    )


def _check_tools(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> None:
    tools = body.get("tools", ())
    used = any(
        block["type"] in ("tool_use", "tool_result")
        for message in messages
        for block in message["content"]
    )
    _require(tools or not used, "Requests which include `tool_use` blocks must define tools")
    names = [tool["name"] for tool in tools]
    _require(len(names) == len(set(names)), "tools: Tool names must be unique.")
    for tool in tools:
        _require(TOOL_NAME.fullmatch(tool["name"]), f"tools: bad name {tool['name']!r}")
        schema = tool["input_schema"]
        _require(schema.get("type") == "object", "tools: input_schema.type: Input should be object")
        _require(
            not {"oneOf", "allOf", "anyOf"} & set(schema),
            "input_schema does not support oneOf, allOf, or anyOf at the top level",
        )
    choice = body.get("tool_choice")
    if choice is not None:
        _require(tools, "tool_choice may only be specified while providing tools")
        _require(choice["type"] in ("auto", "any", "tool", "none"), "tool_choice: bad type")
        _require(choice.get("name", names[0]) in names, f"Tool {choice.get('name')!r} not found")


def _check_thinking(body: Mapping[str, Any], version: tuple[int, int]) -> None:
    sampled = {"temperature", "top_p", "top_k"} & set(body)
    _require(not sampled or version < (4, 7), f"{sampled} is deprecated for this model.")
    thinking = body.get("thinking", {})
    _require(thinking.get("type") != "adaptive" or version >= (4, 6), "adaptive: not supported")
    if thinking.get("type") != "enabled":
        return
    _require(version < (4, 7), '"thinking.type.enabled" is not supported for this model.')
    budget = thinking["budget_tokens"]
    _require(budget >= 1024, "thinking.budget_tokens: should be greater than or equal to 1024")
    _require(budget < body["max_tokens"], "`max_tokens` must be greater than the budget")
    _require(body.get("temperature", 1) == 1, "`temperature` may only be set to 1 with thinking")
    _require("top_k" not in body, "`top_k` must be unset when thinking is enabled")
    forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
    _require(not forced, "Thinking may not be enabled when tool_choice forces tool use.")
    _check_turn(body["messages"])


def _check_turn(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check that the tool loop under way begins with thinking."""
    first: Mapping[str, Any] | None = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message
        elif any(block["type"] != "tool_result" for block in message["content"]):
            break
    if first is not None:
        kind = first["content"][0]["type"]
        _require(
            kind in THINKING,
            f"Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is "
            "enabled, a final `assistant` message must start with a thinking block. To avoid this "
            "requirement, disable `thinking`.",
        )


def _check_format(config: Mapping[str, Any], version: tuple[int, int]) -> None:
    wanted = config.get("format")
    if wanted is None:
        return
    _require(version >= (4, 5), "output_config.format: not supported by this model")
    _require(wanted["type"] == "json_schema", "output_config.format.type: json_schema expected")
    _check_closed(wanted["schema"])


def _check_closed(schema: object) -> None:
    if isinstance(schema, list):
        for item in schema:
            _check_closed(item)
    elif isinstance(schema, dict):
        if schema.get("type") == "object":
            closed = schema.get("additionalProperties") is False
            _require(closed, "For 'object' type, 'additionalProperties' must be set to false")
        for value in schema.values():
            _check_closed(value)
