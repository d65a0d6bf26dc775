"""The base of tools: results for the model, states and streams."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from teams.core import CancellationToken
from teams.tools import BaseStreamTool, BaseTool, BaseToolWithState, FunctionTool, StreamTool, Tool


async def get_weather(city: str, units: str = "imperial") -> str:
    """The weather in a city."""
    return f"{city}: 73 {units}"


class Point(BaseModel):
    x: float
    y: float


def test_strict_tools_take_no_additional_arguments():
    class Anything(BaseModel, extra="allow"):
        city: str

    class Guess(BaseTool[Anything, Text]):
        async def run(self, args: Anything, cancellation_token: CancellationToken) -> Text:
            raise NotImplementedError

    with pytest.raises(ValueError, match="additional"):
        _ = Guess(Anything, Text, "guess", "Guesses.", strict=True).schema


async def test_arguments_are_validated_and_converted():
    def norm(point: Point) -> float:
        return abs(point.x) + abs(point.y)

    tool = FunctionTool(norm)
    assert await tool.run_json({"point": {"x": 1, "y": "-2"}}, CancellationToken()) == 3.0
    with pytest.raises(ValidationError, match=r"point\.y"):
        await tool.run_json({"point": {"x": 1}}, CancellationToken())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "text"),
        (3, "3"),
        (None, "None"),
        (["a"], "['a']"),
        (Point(x=1, y=2), '{"x": 1.0, "y": 2.0}'),
    ],
)
def test_results_are_shown_to_the_model_as_text(value: Any, shown: str):
    assert FunctionTool(get_weather).return_value_as_string(value) == shown


class Text(BaseModel):
    text: str


class Count(BaseModel):
    count: int


class Counter(BaseToolWithState[Text, Count, Count]):
    def __init__(self) -> None:
        super().__init__(Text, Count, Count, "counter", "Counts calls.")
        self.count = 0

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Count:
        self.count += 1
        return Count(count=self.count)

    def save_state(self) -> Count:
        return Count(count=self.count)

    def load_state(self, state: Count) -> None:
        self.count = state.count


async def test_a_tool_with_state_saves_and_loads_it():
    tool, other = Counter(), Counter()
    assert await tool.run_json({"text": "a"}, CancellationToken()) == Count(count=1)
    assert tool.state_type() is Count
    await other.load_state_json(await tool.save_state_json())
    assert await other.run_json({"text": "a"}, CancellationToken()) == Count(count=2)


class Speller(BaseStreamTool[Text, Text, Count]):
    def __init__(self) -> None:
        super().__init__(Text, Count, "speller", "Spells a text.")

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Count:
        return Count(count=len(args.text))

    async def run_stream(self, args: Text, cancellation_token: CancellationToken):
        for letter in args.text:
            yield Text(text=letter)
        yield await self.run(args, cancellation_token)


async def test_a_stream_tool_ends_with_its_result():
    stream = Speller().run_json_stream({"text": "ab"}, CancellationToken())
    assert [item async for item in stream] == [Text(text="a"), Text(text="b"), Count(count=2)]


def test_tools_are_told_apart_by_what_they_can():
    assert isinstance(Counter(), Tool)
    assert not isinstance(Counter(), StreamTool)
    assert isinstance(Speller(), StreamTool)
    assert Counter().args_type() is Text
    assert Counter().return_type() is Count
    assert FunctionTool(get_weather).return_type() is str


async def test_a_stateless_tool_has_an_empty_state():
    tool: BaseTool[Any, Any] = FunctionTool(get_weather)
    assert tool.state_type() is None
    await tool.load_state_json(await tool.save_state_json())
    assert await tool.save_state_json() == {}


def test_a_tool_shows_its_name_and_description_and_no_images():
    tool = Counter()
    assert (tool.name, tool.description) == ("counter", "Counts calls.")
    assert tool.schema.get("parameters", {}).get("required") == ["text"]
    assert tool.return_value_images(Count(count=1)) == ()
