"""Tools: their schemas, functions as tools, and their calls."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from teams.core import CancellationToken
from teams.tools import FunctionTool


async def get_weather(city: str, units: str = "imperial") -> str:
    """The weather in a city."""
    return f"{city}: 73 {units}"


async def get_stock_price(ticker: str, date: Annotated[str, "Date in YYYY/MM/DD"]) -> float:
    return 1.5


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    return dict(FunctionTool(function, "A tool.").schema.get("parameters", {}))


def shown_parameters(tool: FunctionTool) -> list[str]:
    return list(tool.schema.get("parameters", {}).get("properties", {}))


def test_the_schema_comes_from_the_signature_and_the_docstring():
    assert FunctionTool(get_weather).schema == {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"description": "city", "title": "City", "type": "string"},
                "units": {
                    "default": "imperial",
                    "description": "units",
                    "title": "Units",
                    "type": "string",
                },
            },
            "required": ["city"],
            "additionalProperties": False,
        },
        "strict": False,
    }


def test_annotated_describes_a_parameter():
    tool = FunctionTool(get_stock_price, description="Get the stock price.", name="price")
    assert tool.schema == {
        "name": "price",
        "description": "Get the stock price.",
        "parameters": {
            "type": "object",
            "properties": {
                "ticker": {"description": "ticker", "title": "Ticker", "type": "string"},
                "date": {"description": "Date in YYYY/MM/DD", "title": "Date", "type": "string"},
            },
            "required": ["ticker", "date"],
            "additionalProperties": False,
        },
        "strict": False,
    }


def test_a_field_in_annotated_is_kept_with_its_constraints():
    def dice(sides: Annotated[int, Field(ge=2, description="How many sides.")]) -> int:
        return sides

    schema = parameters(dice)["properties"]["sides"]
    assert (schema["minimum"], schema["description"]) == (2, "How many sides.")


class Point(BaseModel):
    x: float
    y: float


class Node(BaseModel):
    value: int
    children: list["Node"] = []


def test_types_of_types_are_written_out():
    def draw(line: list[Point], color: Literal["red", "blue"] | None = None) -> None: ...

    found = parameters(draw)
    assert "$defs" not in found
    assert found["properties"]["line"]["items"]["properties"]["x"]["type"] == "number"
    assert found["properties"]["color"]["anyOf"][0]["enum"] == ["red", "blue"]


def test_a_type_that_contains_itself_keeps_its_definition():
    def plant(tree: Node) -> None: ...

    found = parameters(plant)
    assert found["properties"]["tree"]["properties"]["children"]["items"] == {
        "$ref": "#/$defs/Node"
    }
    assert found["$defs"]["Node"]["properties"]["value"]["type"] == "integer"


def test_strict_tools_have_no_optional_arguments():
    assert FunctionTool(get_stock_price, strict=True).schema.get("strict") is True
    with pytest.raises(ValueError, match="units"):
        _ = FunctionTool(get_weather, strict=True).schema


async def test_names_that_pydantic_reserves_are_arguments_like_others():
    def check(schema: str, json: int, _hidden: bool = True) -> tuple[str, int, bool]:
        return schema, json, _hidden

    tool = FunctionTool(check)
    assert shown_parameters(tool) == ["schema", "json", "_hidden"]
    assert await tool.run_json({"schema": "s", "json": 1}, CancellationToken()) == ("s", 1, True)


@pytest.mark.parametrize(
    ("function", "parameter"),
    [
        (lambda city: city, "city"),
        (lambda *cities: cities, "cities"),
        (lambda **cities: cities, "cities"),
    ],
    ids=["no annotation", "args", "kwargs"],
)
def test_parameters_a_model_cannot_fill_are_refused(function: Callable[..., Any], parameter: str):
    with pytest.raises(ValueError, match=parameter):
        FunctionTool(function, name="tool")
