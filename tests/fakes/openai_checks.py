"""Requests that OpenAI's chat completions endpoint refuses with status 400.

The first finding wins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
AUTHOR_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
IMAGE_URL = re.compile(r"https?://|data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$")


class Refused(Exception):
    """A refused request, with the API's sentence."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


def check_request(body: Mapping[str, Any]) -> None:
    """Raise Refused for what the API refuses."""
    require(bool(body.get("model")), "you must provide a model parameter")
    messages: Any = body.get("messages")
    require(isinstance(messages, list), "Missing required parameter: 'messages'.")
    require(bool(messages), "Invalid 'messages': empty array.")
    for index, message in enumerate(messages):
        _check_message(f"messages[{index}]", message)
    _check_results(messages)
    _check_ids(messages)
    _check_tools(body)
    _check_tool_choice(body)
    _check_response_format(body)
    require(body.get("stream") or "stream_options" not in body, "'stream_options' needs 'stream'.")


def require(condition: object, message: str) -> None:
    if not condition:
        raise Refused(message)


def _check_message(where: str, message: Mapping[str, Any]) -> None:
    role, content = message.get("role"), message.get("content")
    require(role in ROLES, f"Invalid value: {role!r}. Supported values are: {', '.join(ROLES)}.")
    if "name" in message:
        name = message["name"]
        require(
            AUTHOR_NAME.fullmatch(name),
            f"Invalid '{where}.name': {name!r} does not match the pattern.",
        )
    calls = message.get("tool_calls")
    if role == "assistant" and calls is not None:
        _check_calls(where, calls)
    else:
        require("tool_calls" not in message, f"Unknown parameter: '{where}.tool_calls'.")
        require(
            content is not None or (role == "assistant" and message.get("function_call")),
            f"Invalid value for '{where}.content': expected a string, got null.",
        )
        require(
            role != "assistant" or content or message.get("function_call"),
            "Assistant message must have either content or tool_calls, but not none.",  # Mistral
        )
    if role == "tool":
        require(message.get("tool_call_id"), f"Missing required parameter: '{where}.tool_call_id'.")
    if role == "function":
        require(message.get("name"), f"Missing required parameter: '{where}.name'.")
    if isinstance(content, list):
        require(content, f"Invalid '{where}.content': empty array.")
        for part in content:
            _check_part(where, str(role), part)
    else:
        require(content is None or isinstance(content, str), f"Invalid type for '{where}.content'.")


def _check_calls(where: str, calls: object) -> None:
    require(isinstance(calls, list) and calls, f"Invalid '{where}.tool_calls': empty array.")
    assert isinstance(calls, list)
    for call in calls:
        require(call.get("id"), f"Missing required parameter: '{where}.tool_calls[0].id'.")
        function = call["function"]
        require(
            FUNCTION_NAME.fullmatch(function["name"]),
            f"Invalid '{where}.tool_calls[0].function.name': {function['name']!r}.",
        )
        arguments = function.get("arguments")
        require(isinstance(arguments, str), f"Invalid type for '{where}...arguments'.")
        # Said by the templates of vLLM, and by Gemini behind OpenAI's form.
        require(_is_object(arguments), f"Invalid '{where}...arguments': expected a JSON object.")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=float.fromhex), dict)
    except ValueError:
        return False


def _check_ids(messages: Sequence[Mapping[str, Any]]) -> None:
    ids = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    require(len(ids) == len(set(ids)), "Duplicate tool call ids.")
    for call_id in ids:
        # github.com/camel-ai/camel/issues/2215
        require(len(call_id) <= 40, "Invalid 'tool_calls[0].id': string too long (maximum 40).")


def _check_part(where: str, role: str, part: Mapping[str, Any]) -> None:
    kind = part.get("type")
    allowed = {"user": ("text", "image_url"), "assistant": ("text", "refusal")}.get(role, ("text",))
    require(kind in allowed, f"Invalid content type {kind!r} in '{where}' of role {role}.")
    if kind == "image_url":
        require(IMAGE_URL.match(part["image_url"]["url"]), f"Invalid image URL in '{where}'.")


def _check_results(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check that the tool messages answer exactly the calls before them."""
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            answered = message["tool_call_id"]
            require(
                answered in open_calls,
                f"Invalid parameter: messages[{index}] with role 'tool' must be a response to a "
                "preceding message with 'tool_calls'.",
            )
            open_calls.discard(answered)
            continue
        _all_answered(open_calls)
        open_calls = {call["id"] for call in message.get("tool_calls") or ()}
    _all_answered(open_calls)


def _all_answered(open_calls: set[str]) -> None:
    require(
        not open_calls,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(sorted(open_calls))}",
    )


def _check_tools(body: Mapping[str, Any]) -> None:
    if "tools" not in body:
        require(
            "parallel_tool_calls" not in body,
            "'parallel_tool_calls' is only allowed when 'tools' are specified.",
        )
        return
    tools = body["tools"]
    require(tools, "Invalid 'tools': empty array. Expected an array with minimum length 1.")
    for tool in tools:
        kind = tool.get("type")
        require(kind in ("function", "custom"), f"Invalid value for tool type: {kind!r}.")
    names = [tool[tool["type"]]["name"] for tool in tools]
    require(len(names) == len(set(names)), "Tool names must be unique.")
    for function in [tool["function"] for tool in tools if tool["type"] == "function"]:
        name = function["name"]
        require(FUNCTION_NAME.fullmatch(name), f"Invalid tool name {name!r}.")
        parameters = function.get("parameters", {"type": "object", "properties": {}})
        require(
            isinstance(parameters, dict) and parameters.get("type") == "object",
            f"Invalid schema for function {name!r}: it must be of 'type: \"object\"'.",
        )
        combined = {"oneOf", "anyOf", "allOf", "enum", "not"} & set(parameters)
        require(not combined, f"Invalid schema for function {name!r}: {combined} at the top level.")
        _check_lists(f"Invalid schema for function {name!r}", parameters)
        if function.get("strict"):
            check_strict(f"function {name!r}", parameters)


def _check_lists(what: str, schema: Any) -> None:
    """Refuse lists without items (github.com/mark3labs/mcphost/issues/35), and tuples."""
    if isinstance(schema, list):
        for item in schema:
            _check_lists(what, item)
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "array" or (isinstance(kind, list) and "array" in kind):
        require(isinstance(schema.get("items"), dict), f"{what}: array schema missing items.")
        require("prefixItems" not in schema, f"{what}: 'prefixItems' is not permitted.")
    for key, value in schema.items():
        if key not in ("enum", "default", "const", "examples"):
            for inner in value.values() if key in ("properties", "$defs") else [value]:
                _check_lists(what, inner)


def check_strict(what: str, schema: Any) -> None:
    if isinstance(schema, list):
        for item in schema:
            check_strict(what, item)
        return
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        require(
            schema.get("additionalProperties") is False,
            f"Invalid schema for {what}: 'additionalProperties' must be supplied and false.",
        )
        properties = set(schema.get("properties", {}))
        require(
            properties == set(schema.get("required", [])),
            f"Invalid schema for {what}: 'required' must include every key in properties.",
        )
    require("default" not in schema, f"Invalid schema for {what}: 'default' is not permitted.")
    for key, value in schema.items():
        for inner in value.values() if key in ("properties", "$defs") else [value]:
            check_strict(what, inner)


def _check_tool_choice(body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    require(
        body.get("tools"),
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are.",
    )
    if isinstance(choice, str):
        require(
            choice in ("none", "auto", "required"), f"Invalid value for 'tool_choice': {choice!r}."
        )
        return
    name = choice["function"]["name"]
    names = [tool["function"]["name"] for tool in body["tools"]]
    require(
        name in names,
        f"Invalid value for 'tool_choice': Tool choice {name!r} not found in 'tools'.",
    )


def _check_response_format(body: Mapping[str, Any]) -> None:
    wanted = body.get("response_format")
    if wanted is None:
        return
    kind = wanted.get("type")
    require(
        kind in ("text", "json_object", "json_schema"), f"Invalid 'response_format.type': {kind!r}."
    )
    if kind == "json_object":
        require(
            "json" in str(body["messages"]).lower(),
            "'messages' must contain the word 'json' to use the response format 'json_object'.",
        )
    if kind == "json_schema":
        schema = wanted["json_schema"]
        require(
            FUNCTION_NAME.fullmatch(schema["name"]), "Invalid 'response_format.json_schema.name'."
        )
        if schema.get("strict"):
            check_strict(f"response_format {schema['name']!r}", schema["schema"])
