"""Names and schemas of tools, as providers take them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import cast

from teams._tools.schema import ToolSchema
from teams.models._types import Wire

_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")

_LISTS = ("required", "prefixItems", "enum", "allOf", "anyOf", "oneOf")
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "type": (str, list),
    "items": (dict, list),
    **dict.fromkeys(("properties", "$defs", "definitions"), dict),
    **dict.fromkeys(_LISTS, list),
}
"""Types of keywords; with a value of another type they say nothing."""
_NAMED = ("properties", "$defs", "definitions", "patternProperties")
_INNER = ("items", "prefixItems", "additionalProperties", "not", "allOf", "anyOf", "oneOf")
_NOT_AT_THE_TOP = ("$ref", "allOf", "anyOf", "oneOf", "enum", "not")


class ToolNames:
    """Names that a provider takes, for those that tools have.

    They have letters, digits, `_` and `-`, at most `longest` characters. `own` has
    those of the tools by the names that are sent.
    """

    def __init__(self, longest: int, names: Iterable[str]) -> None:
        self._longest = longest
        self._sent: dict[str, str] = {}
        self.own: dict[str, str] = {}
        for name in sorted(names, key=lambda each: not self._is_legal(each)):
            self.own[self.sent(name)] = name

    def sent(self, name: str) -> str:
        """The legal form of a name; the same in each request."""
        if name not in self._sent:
            self._sent[name] = name if self._is_legal(name) else self._made(name)
        return self._sent[name]

    def _is_legal(self, name: str) -> bool:
        return 0 < len(name) <= self._longest and not _FORBIDDEN.search(name)

    def _made(self, name: str) -> str:
        plain = _FORBIDDEN.sub("_", name)
        if plain and len(plain) <= self._longest and plain not in self.own:
            return plain
        mark = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
        return f"{plain[: self._longest - 9]}_{mark}"


def fitting(tool: ToolSchema, name: str) -> ToolSchema:
    """The tool under this name, with parameters that providers take.

    They look at schemas more closely than JSON schema does: OpenAI has "array schema missing
    items", Anthropic "does not support oneOf, allOf, or anyOf at the top level". Raises
    RecursionError for a schema that is nested too deeply.
    """
    given = _schema(tool.get("parameters"))
    parameters = _object(cast("Wire", given) if isinstance(given, dict) else {})
    return cast("ToolSchema", {**tool, "name": name, "parameters": parameters})


def _schema(schema: object) -> object:
    """The schema with items for lists, without keywords that say nothing."""
    if isinstance(schema, list):
        return [_schema(each) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return {} if schema is True else schema
    fitted: Wire = {}
    for key, value in cast("Wire", schema).items():
        if not isinstance(value, _KINDS.get(key, object)) or (key in _LISTS and not value):
            continue
        if key in _NAMED and isinstance(value, dict):
            named = cast("Wire", value)
            fitted[key] = {name: _schema(each) for name, each in named.items()}
        else:
            fitted[key] = _schema(value) if key in _INNER and value is not True else value
    kind, items = fitted.get("type"), fitted.get("items")
    forms: list[object] = [*fitted.pop("prefixItems", ())]
    forms += items if isinstance(items, list) else [items] * isinstance(items, dict)
    if forms or kind == "array" or (isinstance(kind, list) and "array" in kind):
        distinct = [each for place, each in enumerate(forms) if each not in forms[:place]]
        fitted["items"] = {"anyOf": distinct} if len(distinct) > 1 else (distinct or [{}])[0]
    return fitted


def _object(schema: Wire) -> Wire:
    """The schema of an object, without alternatives at the top."""
    if not any(key in schema for key in _NOT_AT_THE_TOP):
        return {**schema, "type": "object", "properties": schema.get("properties", {})}
    definitions: Wire = schema.get("$defs", {})
    always = _resolved([schema, *schema.get("allOf", ())], definitions)
    choices = _resolved([*schema.get("anyOf", ()), *schema.get("oneOf", ())], definitions)
    properties: Wire = {}
    for part in (*choices, *reversed(always)):
        properties |= part.get("properties", {})
    needed = {str(name) for part in always for name in part.get("required", ())}
    if choices:
        needed |= set[str].intersection(
            *({*map(str, part.get("required", ()))} for part in choices)
        )
    made = {key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP}
    required = [name for name in properties if name in needed]
    return {**made, "type": "object", "properties": properties, "required": required}


def _resolved(parts: Iterable[object], definitions: Wire) -> list[Wire]:
    """The parts that are objects, with what they refer to."""
    objects = [cast("Wire", part) for part in parts if isinstance(part, dict)]
    names = [str(part.get("$ref", "")).removeprefix("#/$defs/") for part in objects]
    return [
        {**definitions.get(name, {}), **part} for name, part in zip(names, objects, strict=True)
    ]
