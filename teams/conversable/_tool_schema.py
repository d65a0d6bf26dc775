"""Signatures of functions, as models are told of them."""

from __future__ import annotations

import inspect
import logging

from teams._tools import schema
from teams._tools.signature import arguments_model, function_name, type_hints
from teams.conversable._protocols import Function, Given, Settings

logger = logging.getLogger("teams")

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def tool_schema(function: Function, *, name: str, description: str) -> Settings:
    """The function as an entry of `tools`.

    TypeError for a parameter with neither annotation nor default. One with a default alone is left
    out, with a logged warning: the model can't know its type.
    """
    hints = type_hints(function)
    parameters = [
        each for each in inspect.signature(function).parameters.values() if each.kind in _BY_NAME
    ]
    _check_annotations(function, hints, parameters)

    def told() -> None:
        """Stands for what of the function a model can fill."""

    told.__signature__ = inspect.Signature([each for each in parameters if each.name in hints])
    told.__annotations__ = {**hints}
    model = arguments_model(name, told).model_json_schema()
    for each in model["properties"].values():
        each.pop("title", None)
    made = schema.tool_schema(name, description, model, strict=False).get("parameters", {})
    shown = {key: value for key, value in made.items() if key != "additionalProperties"}
    called = {"description": description, "name": name, "parameters": shown}
    return {"type": "function", "function": called}


def _check_annotations(
    function: Function, hints: Given, parameters: list[inspect.Parameter]
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
