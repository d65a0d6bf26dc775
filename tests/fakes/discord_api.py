"""Checks Discord traffic against Discord's own description of its API."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from adapters.discord.simulator.world import Event
from adapters.discord.testing import Call

DESCRIPTION = Path(__file__).parent.parent / "data" / "discord" / "openapi.json"
URN = "urn:discord"
NUMBERS_AS_IDS = ("recipient_id", "message_id", "channel_id", "guild_id", "users", "roles",
                  "attachments", "applied_tags")  # fmt: skip

# The gateway is not described, but it shows things as REST does.
SHOWN_BY_EVENTS = {
    "MESSAGE_CREATE": "MessageResponse",
    "MESSAGE_UPDATE": "MessageResponse",
    "CHANNEL_CREATE": "GuildChannelResponse",
    "CHANNEL_UPDATE": "GuildChannelResponse",
    "THREAD_CREATE": "ThreadResponse",
    "THREAD_UPDATE": "ThreadResponse",
    "GUILD_CREATE": "GuildResponse",
    "GUILD_MEMBER_ADD": "GuildMemberResponse",
}


class Mismatch(AssertionError):
    """A request or an answer that is not as Discord describes it."""


class ApiDescription:
    """Discord's description: the routes, and their requests and answers."""

    def __init__(self) -> None:
        self._spec: dict[str, Any] = json.loads(DESCRIPTION.read_text())
        _correct(self._spec)
        contents = {**self._spec, "$schema": "https://json-schema.org/draft/2020-12/schema"}
        self._registry = jsonschema_rs.Registry([(URN, contents)])
        self._paths = {
            path: re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path) + "$")
            for path in sorted(self._spec["paths"], key=lambda path: path.count("{"))
        }
        self._validators: dict[str, jsonschema_rs.Validator] = {}

    def check(self, call: Call) -> None:
        """Raise `Mismatch` unless request and answer match; downloads are not checked."""
        if call.route == "/attachments" or (call.status == 404 and call.answer["code"] == 0):
            return
        path = next((path for path, it in self._paths.items() if it.match(call.path)), None)
        method = call.method.lower()
        if path is None or method not in self._spec["paths"][path]:
            raise Mismatch(f"{call.method} {call.path}: no such route")
        where = f"{URN}#/paths/{_escaped(path)}/{method}"
        if call.body is not None and call.status != 400:
            self._check_request(call, path, where)
        if call.status is not None and not isinstance(call.answer, str):
            self._check_answer(call, path, where)

    def check_event(self, event: Event) -> None:
        """Raise `Mismatch` unless an event's objects look as over REST."""
        if name := SHOWN_BY_EVENTS.get(event.name):
            schema = f"{URN}#/components/schemas/{name}"
            self._validate(schema, event.data, event.name)

    def _check_request(self, call: Call, path: str, where: str) -> None:
        described = self._spec["paths"][path][call.method.lower()].get("requestBody")
        if described is None:
            if call.body:
                raise Mismatch(f"{call}: takes no body, got {call.body}")
            return
        if "application/json" not in described["content"]:
            return
        schema = f"{where}/requestBody/content/application~1json/schema"
        self._validate(schema, _with_ids(call.body), f"{call}: request")

    def _check_answer(self, call: Call, path: str, where: str) -> None:
        responses = self._spec["paths"][path][call.method.lower()]["responses"]
        status = str(call.status)
        if status.startswith("5"):
            return
        known = status if status in responses else f"{status[0]}XX"
        if known not in responses:
            raise Mismatch(f"{call}: no such status is described")
        described = responses[known]
        if reference := described.get("$ref"):
            schema = f"{URN}{reference}"
            name = reference.rsplit("/", 1)[-1]
            content = self._spec["components"]["responses"][name].get("content")
        else:
            schema = f"{where}/responses/{known}"
            content = described.get("content")
        if not content:
            if call.answer is not None:
                raise Mismatch(f"{call}: described without a body, got {call.answer}")
            return
        schema = f"{schema}/content/application~1json/schema"
        self._validate(schema, call.answer, f"{call}: answer")

    def _validate(self, schema: str, value: Any, what: str) -> None:
        if schema not in self._validators:
            self._validators[schema] = jsonschema_rs.Draft202012Validator(
                {"$ref": schema}, registry=self._registry, formats=FORMATS, validate_formats=True
            )
        if errors := list(self._validators[schema].iter_errors(value)):
            told = "\n".join(_deepest(error) for error in errors)
            raise Mismatch(f"{what} is not as described:\n{told}\nin {json.dumps(value)[:2000]}")


@cache
def api_description() -> ApiDescription:
    """The description, read once."""
    return ApiDescription()


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _is_snowflake(text: str) -> bool:
    return text.isdecimal() and int(text) < 2**64


FORMATS = {"snowflake": _is_snowflake, "date-time": _is_time}


def _escaped(path: str) -> str:
    return path.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")


def _with_ids(body: Any) -> Any:
    """The body with ids as text.

    discord.py writes them as numbers, which Discord takes.
    """
    match body:
        case dict():
            return {
                name: _ids(value) if name in NUMBERS_AS_IDS else _with_ids(value)
                for name, value in body.items()
            }
        case list():
            return [_with_ids(each) for each in body]
        case _:
            return body


def _ids(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int():
            return str(value)
        case list():
            return [{**each, "id": _ids(each["id"])} if isinstance(each, dict) else _ids(each)
                    for each in value]  # fmt: skip
        case _:
            return _with_ids(value)


def _correct(spec: dict[str, Any]) -> None:
    """Two things that Discord does and documents, and its description gets wrong."""
    schemas = spec["components"]["schemas"]
    schemas["MessageReferenceType"]["oneOf"].append({"title": "FORWARD", "const": 1})
    error = {"properties": {"code": {"type": "string"}, "message": {"type": "string"}}}
    schemas["InnerErrors"]["properties"]["_errors"]["items"] = error


def _deepest(error: jsonschema_rs.ValidationError) -> str:
    while choices := [each for choice in getattr(error.kind, "context", ()) for each in choice]:
        error = max(choices, key=lambda each: len(each.instance_path))
    return f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
