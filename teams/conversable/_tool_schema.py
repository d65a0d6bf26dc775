"""Signatures of functions, as models are told of them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from teams._tools.schema import has_reference, inline_references
from teams._tools.signature import function_name, type_hints

logger = logging.getLogger("teams")

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def tool_schema(function: Callable[..., Any], *, name: str, description: str) -> dict[str, Any]:
    """The function as an entry of `tools`.

    A parameter's description is the text in its `Annotated`, or its name. TypeError for a parameter
    with neither annotation nor default. One with a default alone is left out, with a logged
    warning: the model can't know its type.
    """
    hints = type_hints(function)
    parameters = [
        each for each in inspect.signature(function).parameters.values() if each.kind in _BY_NAME
    ]
    _check_annotations(function, hints, parameters)
    return {
        "type": "function",
        "function": {
            "description": description,
            "name": name,
            "parameters": _parameters_schema(
                [(each, hints[each.name]) for each in parameters if each.name in hints]
            ),
        },
    }


def _check_annotations(
    function: Callable[..., Any], hints: Mapping[str, Any], parameters: list[inspect.Parameter]
) -> None:
    name = function_name(function)
    bare = [each for each in parameters if each.name not in hints]
    if missing := [each.name for each in bare if each.default is each.empty]:
        raise TypeError(
            f"The function {name!r} needs annotations for a model to know its parameters: "
            f"{', '.join(missing)}."
        )
    if bare:
        logger.warning(
            "The function %r has parameters without annotation, which models are not told of: %s.",
            name,
            ", ".join(each.name for each in bare),
        )
    if "return" not in hints:
        logger.warning("The function %r has no annotation of what it returns.", name)


def _parameters_schema(hinted: list[tuple[inspect.Parameter, Any]]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for parameter, hint in hinted:
        schema = TypeAdapter[Any](hint).json_schema()
        known = schema.pop("$defs", {})
        schema = inline_references(schema, known)
        if has_reference(schema):  # a type that contains itself
            definitions |= known
        schema["description"] = _description(hint) or parameter.name
        if parameter.default is not parameter.empty:
            schema["default"] = to_jsonable_python(parameter.default, fallback=str)
        properties[parameter.name] = schema
    required = [each.name for each, _ in hinted if each.default is each.empty]
    found = {"type": "object", "properties": properties, "required": required}
    return {**found, "$defs": definitions} if definitions else found


def _description(hint: Any) -> str | None:
    if get_origin(hint) is not Annotated:
        return None
    texts = (
        each.description if isinstance(each, FieldInfo) else each for each in get_args(hint)[1:]
    )
    return next((text for text in texts if isinstance(text, str)), None)
