"""Signatures of functions, as models are told of them."""

from __future__ import annotations

import logging
from typing import Annotated, Any, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field

from teams.conversable._tool_schema import tool_schema

Colour = TypeVar("Colour", bound=Literal["red", "blue"])


class Money(BaseModel):
    """An amount."""

    amount: float
    currency: Annotated[str, Field(description="Three letters")] = "EUR"


ONE = Money(amount=1)


class Tree(BaseModel):
    """A tree."""

    children: list[Tree] = []


class Purse(BaseModel):
    """Holds money."""

    coins: list[Money]


def schema(function: Any) -> dict[str, Any]:
    return tool_schema(function, name="f", description="d")["function"]["parameters"]


def test_the_entry_of_tools():
    def add(a: Annotated[int, "first"], b: int, c: float = 3.14) -> str:
        return f"{a}{b}{c}"

    assert tool_schema(add, name="plus", description="Adds") == {
        "type": "function",
        "function": {
            "description": "Adds",
            "name": "plus",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "first"},
                    "b": {"type": "integer", "description": "b"},
                    "c": {"type": "number", "description": "c", "default": 3.14},
                },
                "required": ["a", "b"],
            },
        },
    }


def test_the_description_may_be_that_of_a_field():
    def f(a: Annotated[int, Field(description="first", ge=1)]) -> None: ...

    assert schema(f)["properties"] == {
        "a": {"type": "integer", "minimum": 1, "description": "first"}
    }


def test_a_required_parameter_without_annotation():
    def f(a, b: int) -> None: ...  # pyright: ignore

    with pytest.raises(TypeError, match=r"'f' needs annotations .*: a"):
        schema(f)


def test_a_default_without_annotation_is_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
):
    def f(a: int, c=3.14) -> None: ...  # pyright: ignore

    with caplog.at_level(logging.WARNING, "teams"):
        assert list(schema(f)["properties"]) == ["a"]
    assert "models are not told of: c." in caplog.text


def test_a_missing_return_annotation_is_logged(caplog: pytest.LogCaptureFixture):
    def f(a: int): ...

    with caplog.at_level(logging.WARNING, "teams"):
        schema(f)
    assert "no annotation of what it returns" in caplog.text


def test_variable_parameters_are_left_out():
    def f(*args: int, a: int, **kwargs: int) -> None: ...

    assert list(schema(f)["properties"]) == ["a"]


def test_types():
    def f(
        a: Literal["x", "y"],
        b: list[str],
        c: Colour,  # pyright: ignore[reportInvalidTypeVarUse]
        d: int | None = None,
        e: Money = ONE,
    ) -> None: ...

    assert schema(f)["properties"] == {
        "a": {"enum": ["x", "y"], "type": "string", "description": "a"},
        "b": {"items": {"type": "string"}, "type": "array", "description": "b"},
        "c": {"enum": ["red", "blue"], "type": "string", "description": "c"},
        "d": {
            "anyOf": [{"type": "integer"}, {"type": "null"}],
            "default": None,
            "description": "d",
        },
        "e": {
            "title": "Money",
            "type": "object",
            "description": "e",
            "properties": {
                "amount": {"title": "Amount", "type": "number"},
                "currency": {
                    "title": "Currency",
                    "type": "string",
                    "default": "EUR",
                    "description": "Three letters",
                },
            },
            "required": ["amount"],
            "default": {"amount": 1.0, "currency": "EUR"},
        },
    }


def test_models_inside_of_models_are_written_out():
    def f(purse: Annotated[Purse, "all you have"]) -> None: ...

    coins = schema(f)["properties"]["purse"]["properties"]["coins"]
    assert coins["items"]["title"] == "Money"
    assert "$defs" not in schema(f)


def test_a_type_that_contains_itself_keeps_its_definition():
    def f(tree: Tree) -> None: ...

    assert schema(f)["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
