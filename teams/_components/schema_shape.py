"""The shape of a JSON schema that travelled as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, cast

from pydantic import BaseModel, Discriminator, Field, Tag, ValidationError

Schema: TypeAlias = Mapping[str, Any]

_MOST_STEPS = 8
"""Steps of a place in an error; a schema may be nested some hundred levels deep."""

_Part: TypeAlias = Annotated[
    "Annotated[bool, Tag('true or false')] | Annotated[_SchemaObject, Tag('schema')]",
    Discriminator(lambda given: "true or false" if isinstance(given, bool) else "schema"),
]
_Parts: TypeAlias = Annotated[list[_Part], Field(min_length=1)]


class _SchemaObject(BaseModel, defer_build=True):
    """The keywords of a schema that we read; others may say anything."""

    reference: str = Field("", alias="$ref")
    defs: dict[str, _Part] = Field({}, alias="$defs")
    definitions: dict[str, _Part] = {}
    type: str | list[str] = ""
    enum: list[Any] = Field([None], min_length=1)
    anyOf: _Parts = [True]
    oneOf: _Parts = [True]
    allOf: list[_SchemaObject] = Field([], min_length=1)
    properties: dict[str, _Part] = {}
    required: list[str] = []
    additionalProperties: _Part = True
    items: _Part = True
    prefixItems: list[_Part] = []
    uniqueItems: bool = False
    title: str | None = None
    description: str | None = None
    format: str | None = None
    discriminator: dict[str, Any] = {}


def check_shape(schema: object) -> None:
    """Raise ValueError, with the place, unless all parts have their types.

    A schema that is nested several hundred levels deep raises it, too.
    """
    try:
        given = {**cast("Schema", schema)} if isinstance(schema, Mapping) else schema
        _SchemaObject.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        steps = [str(each) for each in found["loc"] if each != "schema"][:_MOST_STEPS]
        place = ".".join(steps) or "its root"
        raise ValueError(f"The JSON schema is damaged at {place}: {found['msg']}") from error
