"""As much of JSON Schema as schemas generated from TypeScript use."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def mismatches(
    schema: Mapping[str, Any], value: Any, root: Mapping[str, Any], path: str = ""
) -> Iterator[str]:
    """Differences of a value from its schema; `root` has the definitions."""
    if "$ref" in schema:
        name = unquote(schema["$ref"]).removeprefix("#/definitions/")
        yield from mismatches(root["definitions"][name], value, root, path)
        return
    if "anyOf" in schema:
        each = [list(mismatches(option, value, root, path)) for option in schema["anyOf"]]
        if all(each):
            yield from min(each, key=len)
        return
    if "allOf" in schema:
        for part in schema["allOf"]:
            yield from mismatches(part, value, root, path)
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if "type" in schema and not _is(value, schema["type"]):
        yield f"{path}: {value!r} is no {schema['type']}"
    elif isinstance(value, dict):
        yield from _object(schema, value, root, path)
    elif isinstance(value, list) and "items" in schema:
        for number, each in enumerate(value):
            yield from mismatches(schema["items"], each, root, f"{path}/{number}")


def _is(value: Any, kinds: str | list[str]) -> bool:
    wanted = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, bool):
        return "boolean" in wanted
    return any(isinstance(value, KINDS[kind]) for kind in wanted)


def _object(
    schema: Mapping[str, Any], value: Mapping[str, Any], root: Mapping[str, Any], path: str
) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}: {name!r} is missing"
    more = schema.get("additionalProperties", {})
    for name, each in value.items():
        if name in properties:
            yield from mismatches(properties[name], each, root, f"{path}/{name}")
        elif more is False:
            yield f"{path}: {name!r} is not known"
        elif isinstance(more, dict):
            yield from mismatches(more, each, root, f"{path}/{name}")
