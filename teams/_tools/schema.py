"""A tool's schema as models are given it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict


class ParametersSchema(TypedDict):
    """A tool's parameters, as JSON schema of an object."""

    type: str
    properties: dict[str, Any]
    required: NotRequired[Sequence[str]]
    additionalProperties: NotRequired[bool]


class ToolSchema(TypedDict):
    """A tool as a model is told of it."""

    name: str
    description: NotRequired[str]
    parameters: NotRequired[ParametersSchema]
    strict: NotRequired[bool]


def tool_schema(
    name: str, description: str, model: Mapping[str, Any], *, strict: bool
) -> ToolSchema:
    """A new schema of a tool from that of its arguments.

    References are resolved. ValueError when `strict` is asked for and an argument may be left out.
    """
    definitions = model.get("$defs", {})
    parameters = ParametersSchema(
        type="object",
        properties=inline_references(model.get("properties", {}), definitions),
        required=list(model.get("required", ())),
        additionalProperties=model.get("additionalProperties", False),
    )
    if strict:
        _check_strict(name, parameters)
    # A type that contains itself cannot be written out; what is left of it stays a reference.
    if definitions and has_reference(parameters):
        cast("dict[str, Any]", parameters)["$defs"] = deepcopy(definitions)
    return ToolSchema(name=name, description=description, parameters=parameters, strict=strict)


def _check_strict(name: str, parameters: ParametersSchema) -> None:
    optional = sorted(parameters["properties"].keys() - set(parameters.get("required", ())))
    if optional:
        raise ValueError(
            f"Tool {name!r} is strict: its arguments cannot have defaults ({', '.join(optional)})."
        )
    if parameters.get("additionalProperties", False):
        raise ValueError(f"Tool {name!r} is strict: it cannot take additional arguments.")


def inline_references(
    schema: Any, definitions: Mapping[str, Any], within: tuple[str, ...] = ()
) -> Any:
    """The schema with its definitions in place; recursive references stay."""
    if isinstance(schema, list):
        return [inline_references(item, definitions, within) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    entries = cast("dict[str, Any]", schema)
    reference = entries.get("$ref")
    if not isinstance(reference, str):
        return {
            key: inline_references(value, definitions, within) for key, value in entries.items()
        }
    target = reference.removeprefix("#/$defs/")
    if target in within:
        return entries
    beside = {key: value for key, value in entries.items() if key != "$ref"}
    return {**inline_references(definitions[target], definitions, (*within, target)), **beside}


def has_reference(schema: Any) -> bool:
    """True if a reference is left in the schema."""
    match schema:
        case {"$ref": str()}:
            return True
        case dict():
            return any(has_reference(value) for value in cast("dict[str, Any]", schema).values())
        case list():
            return any(has_reference(item) for item in cast("list[Any]", schema))
        case _:
            return False
