"""Make a pydantic model from a JSON schema that travelled as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, ForwardRef, Literal, Union
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model

Schema = Mapping[str, Any]

_SCALARS: dict[str, Any] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
}
_FORMATS: dict[str, Any] = {
    "date-time": datetime,
    "date": date,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
}
_CONSTRAINTS = {
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minItems": "min_length",
    "maxItems": "max_length",
}
_EXTRA: dict[Any, Literal["allow", "forbid"]] = {True: "allow", False: "forbid"}


def schema_to_pydantic_model(schema: Schema, model_name: str = "GeneratedModel") -> type[BaseModel]:
    """A model that accepts what the schema of an object describes.

    Reads what pydantic writes (references, also recursive ones, unions, enums, constants, tuples,
    common formats and constraints); keywords it does not know are ignored. A property that is
    neither required nor has a default becomes optional. Raises ValueError for a schema of anything
    but an object and for a reference to nowhere.
    """
    return _Reader(schema).root(model_name)


class _Reader:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._definitions: Schema = schema.get("$defs") or schema.get("definitions") or {}
        self._types: dict[str, Any] = {}

    def root(self, name: str) -> type[BaseModel]:
        schema = self._schema
        if "$ref" in schema:
            schema = self._definition(_definition_name(schema["$ref"]))
        if "properties" not in schema and schema.get("type") != "object":
            raise ValueError(f"Not the JSON schema of an object: {schema!r}")
        model = self._model(name, schema)
        for made in self._types.values():
            if isinstance(made, type) and issubclass(made, BaseModel):
                made.model_rebuild(_types_namespace=self._types)
        model.model_rebuild(_types_namespace=self._types)
        return model

    def _model(self, name: str, schema: Schema) -> type[BaseModel]:
        required = set(schema.get("required", ()))
        fields: dict[str, Any] = {}
        for key, value in schema.get("properties", {}).items():
            field = _field_name(key, fields)
            annotation = self._type(value, f"{name}_{key}")
            options: dict[str, Any] = {"description": value.get("description")}
            if field != key:
                options["alias"] = key
            if key in required:
                fields[field] = (annotation, Field(**options))
            elif "default" in value:
                default = Field(default=value["default"], validate_default=True, **options)
                fields[field] = (annotation, default)
            else:
                fields[field] = (_union([annotation, type(None)]), Field(default=None, **options))
        config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)
        extra = _EXTRA.get(schema.get("additionalProperties"))
        if extra is not None:
            config["extra"] = extra
        return create_model(name, __config__=config, __doc__=schema.get("description"), **fields)

    def _type(self, schema: Schema | bool, name: str) -> Any:
        annotation: Any = Any
        match schema:
            case {"$ref": str(reference)}:
                annotation = self._resolve_reference(_definition_name(reference))
            case {"const": value}:
                annotation = Literal[value]
            case {"enum": values}:
                annotation = Literal[tuple(values)]
            case {"anyOf": options} | {"oneOf": options}:
                annotation = _union([self._type(option, name) for option in options])
            case {"allOf": parts}:
                annotation = self._type(_merge_all_of(schema, parts), name)
            case {"type": [*kinds]}:
                annotation = _union([self._type({**schema, "type": kind}, name) for kind in kinds])
            case {"properties": _}:
                annotation = self._model(name, schema)
            case {"type": "object"}:
                annotation = dict[str, self._type(schema.get("additionalProperties", True), name)]
            case {"type": "array"}:
                annotation = self._array(schema, name)
            case {"type": "string"}:
                text = _FORMATS.get(schema.get("format", ""), str)
                annotation = _apply_limits(text, schema)
            case {"type": str(kind)} if kind in _SCALARS:
                annotation = _apply_limits(_SCALARS[kind], schema)
            case _:
                pass
        return annotation

    def _array(self, schema: Schema, name: str) -> Any:
        if "prefixItems" in schema:
            parts = tuple(self._type(item, name) for item in schema["prefixItems"])
            return tuple[parts]
        items = self._type(schema.get("items", True), f"{name}_item")
        return _apply_limits(set[items] if schema.get("uniqueItems") else list[items], schema)

    def _resolve_reference(self, name: str) -> Any:
        if name not in self._types:
            schema = self._definition(name)
            self._types[name] = ForwardRef(name)  # for references met while it is being built
            self._types[name] = self._type(schema, name)
        return self._types[name]

    def _definition(self, name: str) -> Schema:
        if name not in self._definitions:
            raise ValueError(f"The JSON schema refers to {name!r}, which it does not define")
        return self._definitions[name]


def _definition_name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _field_name(key: str, taken: Mapping[str, Any]) -> str:
    """The key itself where pydantic allows it, else a similar name."""
    name = re.sub(r"\W", "_", key).lstrip("_")
    if not name or not name[0].isalpha():
        name = f"field_{name}"
    while name in taken or hasattr(BaseModel, name):
        name += "_"
    return name


def _merge_all_of(schema: Schema, parts: list[Schema]) -> Schema:
    """Merge `allOf` as pydantic writes it: a reference with annotations, or objects."""
    beside = {key: value for key, value in schema.items() if key != "allOf"}
    if len(parts) == 1:
        return {**parts[0], **beside}
    merged: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    for part in (*parts, beside):
        merged["properties"].update(part.get("properties", {}))
        merged["required"].extend(part.get("required", ()))
    return merged


def _apply_limits(annotation: Any, schema: Schema) -> Any:
    limits = {ours: schema[theirs] for theirs, ours in _CONSTRAINTS.items() if theirs in schema}
    return Annotated[annotation, Field(**limits)] if limits else annotation


def _union(options: list[Any]) -> Any:
    return Union[tuple(options)]  # noqa: UP007 (forward references know no `|`)
