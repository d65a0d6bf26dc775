"""Make a pydantic model from a JSON schema that travelled as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, ForwardRef, Literal, Union
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PydanticSchemaGenerationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError
from typing_extensions import TypeAliasType

from teams._components.schema_shape import Schema, check_shape

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
    **dict.fromkeys(("uuid", "uuid1", "uuid3", "uuid4", "uuid5", "uuid6", "uuid7", "uuid8"), UUID),
}
# fmt: off
_TEXT_FORMATS = frozenset((
    "base64", "base64url", "binary", "byte", "color", "decimal", "directory-path", "double",
    "email", "file-path", "float", "hostname", "idn-email", "idn-hostname", "int32", "int64",
    "ipv4", "ipv4-network", "ipv4interface", "ipv4network", "ipv6", "ipv6-network", "ipv6interface",
    "ipv6network", "ipvanyaddress", "ipvanyinterface", "ipvanynetwork", "iri", "iri-reference",
    "json-pointer", "json-string", "multi-host-uri", "name-email", "password", "path", "regex",
    "relative-json-pointer", "uri", "uri-reference", "uri-template",
))
# fmt: on
"""Formats of strings that stay texts: those of JSON Schema, pydantic and OpenAPI."""
_NUMBER_FORMATS = frozenset({"int32", "int64", "float", "double"})
_OF_TEXTS = {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"}
_OF_LISTS = {"minItems": "min_length", "maxItems": "max_length"}
_OF_NUMBERS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
}
_named: Callable[[str, Any], Any] = TypeAliasType
_MOST_PARTS = 1000
"""Parts of `allOf` that are joined: each may name two others, and so on."""
_REFUSED = (RecursionError, SchemaError, PydanticSchemaGenerationError, PydanticUserError)
"""Errors about a schema whose parts have their types, such as a broken pattern."""


def schema_to_pydantic_model(schema: Schema, model_name: str = "GeneratedModel") -> type[BaseModel]:
    """A model that accepts what the schema of an object describes.

    Reads what pydantic writes (references, also recursive ones, unions, enums, constants, tuples,
    common formats and constraints, discriminators, titles); keywords it does not know are ignored.
    A property that is neither required nor has a default becomes optional, one without a type takes
    anything. Raises ValueError for a damaged schema, or one of anything but an object, for a
    reference to nowhere, and for an unknown type or format.
    """
    return _read(schema, model_name, lenient=False)


def arguments_model(schema: Schema, model_name: str) -> type[BaseModel]:
    """As `schema_to_pydantic_model`, but unknown types and formats take anything.

    For the arguments of foreign tools, which are judged elsewhere.
    """
    return _read(schema, model_name, lenient=True)


def _read(schema: Schema, name: str, *, lenient: bool) -> type[BaseModel]:
    check_shape(schema)
    try:
        return _Reader(schema, lenient=lenient).root(name)
    except _REFUSED as error:
        raise ValueError(f"The JSON schema of {name!r} can't be read: {error}") from error


class _Reader:
    def __init__(self, schema: Schema, *, lenient: bool) -> None:
        self._schema = schema
        self._lenient = lenient
        self._definitions: Schema = schema.get("$defs") or schema.get("definitions") or {}
        self._types: dict[str, Any] = {}
        self._named: dict[str, Any] = {}
        """Types by the names of ours that references in annotations have: pydantic runs those."""
        self._recursive: set[str] = set()
        self._models: list[type[BaseModel]] = []
        self._parts = 0

    def root(self, name: str) -> type[BaseModel]:
        schema = self._schema
        if "$ref" in schema:
            schema = self._definition(_definition_name(schema["$ref"]))
        if "allOf" in schema:
            schema = self._merge_all_of(schema)
        if "properties" not in schema and schema.get("type") != "object":
            raise ValueError(f"Not the JSON schema of an object: {schema!r}")
        self._model(name, schema)
        for made in self._models:
            made.model_rebuild(_types_namespace=self._named)
        return self._models[-1]

    def _model(self, name: str, schema: Schema) -> type[BaseModel]:
        required = set(schema.get("required", ()))
        fields: dict[str, Any] = {}
        properties: dict[str, Schema | bool] = schema.get("properties", {})
        for key, given in properties.items():
            told: Schema = {} if isinstance(given, bool) else given
            field = _field_name(key, fields)
            annotation = self._type(told, f"{name}_{key}")
            options: dict[str, Any] = {
                "description": told.get("description"),
                "title": told.get("title"),
            }
            if field != key:
                options["alias"] = key
            if key in required:
                fields[field] = (annotation, Field(**options))
            elif "default" in told:
                default = Field(default=told["default"], validate_default=True, **options)
                fields[field] = (annotation, default)
            else:
                fields[field] = (_union([annotation, type(None)]), Field(default=None, **options))
        config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)
        if isinstance(extra := schema.get("additionalProperties"), bool):
            config["extra"] = "allow" if extra else "forbid"
        doc: str | None = schema.get("description")
        made = create_model(name, __config__=config, __doc__=doc, **fields)
        self._models.append(made)
        return made

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
                if (key := self._discriminator(schema, options)) is not None:
                    annotation = Annotated[annotation, Field(discriminator=key)]
            case {"allOf": _}:
                annotation = self._type(self._merge_all_of(schema), name)
            case {"type": [*kinds]}:
                each = [{**schema, "type": kind} for kind in dict.fromkeys(kinds)]
                annotation = _union([self._type(one, name) for one in each])
            case {"properties": _} if schema.get("type", "object") == "object":
                annotation = self._model(name, schema)
            case {"type": "object"}:
                annotation = dict[str, self._type(schema.get("additionalProperties", True), name)]
            case {"type": "array"}:
                annotation = self._array(schema, name)
            case {"type": kind}:
                annotation = self._scalar(kind, schema, name)
            case _:
                pass
        return annotation

    def _scalar(self, kind: Any, schema: Schema, name: str) -> Any:
        if kind == "string":
            self._check_format(schema, name, _FORMATS.keys() | _TEXT_FORMATS)
            known = _FORMATS.get(schema.get("format", ""))
            return known or _apply_limits(str, schema, _OF_TEXTS)
        if isinstance(kind, str) and kind in _SCALARS:
            self._check_format(schema, name, _NUMBER_FORMATS)
            limits = _OF_NUMBERS if kind in ("integer", "number") else {}
            return _apply_limits(_SCALARS[kind], schema, limits)
        if not self._lenient:
            raise ValueError(f"Unknown type {kind!r} of {name!r} in the JSON schema")
        return Any

    def _check_format(self, schema: Schema, name: str, known: Collection[str]) -> None:
        found = schema.get("format")
        if found is not None and found not in known and not self._lenient:
            raise ValueError(f"Unknown format {found!r} of {name!r} in the JSON schema")

    def _discriminator(self, schema: Schema, options: Sequence[Schema]) -> str | None:
        """The property by which the options differ, if each fixes it."""
        key: str | None = schema.get("discriminator", {}).get("propertyName")
        if key is None or not all("$ref" in option for option in options):
            return None
        for option in options:
            fixed = self._definition(_definition_name(option["$ref"])).get("properties", {})
            if not {"const", "enum"} & fixed.get(key, {}).keys():
                return None
        return key

    def _merge_all_of(self, schema: Schema, within: tuple[str, ...] = ()) -> Schema:
        """Merge `allOf`: objects and references, or one with annotations."""
        parts: list[Schema] = schema["allOf"]
        beside = {key: value for key, value in schema.items() if key != "allOf"}
        if (
            len(parts) == 1
            and not within
            and "properties" not in beside
            and "allOf" not in parts[0]
        ):
            return {**parts[0], **{key: value for key, value in beside.items() if key != "type"}}
        merged: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        for part in (*parts, beside):
            self._parts += 1
            if self._parts > _MOST_PARTS:
                raise ValueError(f"The JSON schema joins more than {_MOST_PARTS} parts by allOf")
            whole, path = part, within
            if "$ref" in part:
                name = _definition_name(part["$ref"])
                if name in within:
                    raise ValueError(f"The JSON schema defines {name!r} by itself")
                whole, path = self._definition(name), (*within, name)
            if "allOf" in whole:
                whole = self._merge_all_of(whole, path or ("",))
            merged["properties"].update(whole.get("properties", {}))
            merged["required"].extend(whole.get("required", ()))
            if "additionalProperties" in whole:
                merged["additionalProperties"] = whole["additionalProperties"]
        return {**merged, **{key: beside[key] for key in ("title", "description") if key in beside}}

    def _array(self, schema: Schema, name: str) -> Any:
        if "prefixItems" in schema:
            parts = tuple(self._type(item, name) for item in schema["prefixItems"])
            return tuple[parts]
        items = self._type(schema.get("items", True), f"{name}_item")
        unique = schema.get("uniqueItems") and items in (str, *_SCALARS.values())
        return _apply_limits(set[items] if unique else list[items], schema, _OF_LISTS)

    def _resolve_reference(self, name: str) -> Any:
        if (known := self._types.get(name)) is not None:
            if isinstance(known, ForwardRef):
                self._recursive.add(known.__forward_arg__)
            return known
        schema, ours = self._definition(name), f"Definition{len(self._types)}"
        self._types[name] = reference = ForwardRef(ours)  # met while it is being built
        made: Any = self._type(schema, name)
        if made is reference:
            raise ValueError(f"The JSON schema defines {name!r} by itself")
        is_model = isinstance(made, type) and issubclass(made, BaseModel)
        if ours in self._recursive and not is_model and not isinstance(made, ForwardRef):
            made = _named(ours, made)  # pydantic follows no other type into itself
        self._types[name] = self._named[ours] = made
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


def _apply_limits(annotation: Any, schema: Schema, known: Mapping[str, str]) -> Any:
    limits = {ours: schema[theirs] for theirs, ours in known.items() if theirs in schema}
    return Annotated[annotation, Field(**limits)] if limits else annotation


def _union(options: list[Any]) -> Any:
    return Union[tuple(options)]  # noqa: UP007 (forward references know no `|`)
