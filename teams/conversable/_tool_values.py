"""Arguments and results of tool calls, between JSON and Python."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_jsonable_python

from teams._base.tool_call import check_arguments
from teams._base.whole_text import whole_texts
from teams._base.workers import is_async
from teams._tools.signature import type_hints, unwrap
from teams.conversable._protocols import Function, Given, Settings


def read_arguments(given: str | Given | None) -> Settings:
    """Parse a call's arguments; its strings may contain raw newlines and tabs.

    ValueError for anything but a JSON object of a moderate size.
    """
    text = given or "{}"
    if isinstance(text, Mapping):  # of a custom model client
        return {**text}
    check_arguments(text)
    arguments = json.loads(text, strict=False)
    if not isinstance(arguments, dict):
        raise ValueError("not an object")
    return whole_texts({**arguments})


def for_execution(function: Function) -> Function:
    """Wrap a function: it takes dicts for models, and returns text."""
    readers = {
        name: TypeAdapter[Any](hint)
        for name, hint in type_hints(function).items()
        if name != "return" and _has_model(hint)
    }

    def read(given: Given) -> Settings:
        return {
            name: readers[name].validate_python(value)
            if name in readers and isinstance(value, dict)
            else value
            for name, value in given.items()
        }

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> str:
        return as_text(function(*args, **read(kwargs)))

    @functools.wraps(function)
    async def a_call(*args: Any, **kwargs: Any) -> str:
        return as_text(await function(*args, **read(kwargs)))

    return a_call if is_async(unwrap(function)) else call


def as_text(result: object) -> str:
    """The result of a function, as a model reads it."""
    match result:
        case str():
            return result
        case BaseModel():
            return result.model_dump_json()
        case _:
            return json.dumps(result, ensure_ascii=False, default=to_jsonable_python)


def _has_model(hint: object) -> bool:
    """True for a pydantic model, described or as one of several."""
    match get_origin(hint):
        case None:
            return isinstance(hint, type) and issubclass(hint, BaseModel)
        case origin if origin is Annotated:
            return _has_model(get_args(hint)[0])
        case origin:
            return origin in (Union, UnionType) and any(map(_has_model, get_args(hint)))
