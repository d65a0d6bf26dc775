"""Tools: their schemas, functions as tools, and their calls."""

import asyncio
import contextvars
import functools
import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from teams.core import CancellationToken
from teams.tools import (
    BaseStreamTool,
    BaseTool,
    BaseToolWithState,
    FunctionTool,
    StreamTool,
    Tool,
    ToolTraits,
)


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


def test_strict_tools_take_no_additional_arguments():
    class Anything(BaseModel, extra="allow"):
        city: str

    class Guess(BaseTool[Anything, Text]):
        async def run(self, args: Anything, cancellation_token: CancellationToken) -> Text:
            raise NotImplementedError

    with pytest.raises(ValueError, match="additional"):
        _ = Guess(Anything, Text, "guess", "Guesses.", strict=True).schema


async def test_arguments_bound_by_a_partial_are_not_shown_to_the_model():
    def connect(key: str, host: str, port: int) -> str:
        """Connect to a host."""
        return f"{key}@{host}:{port}"

    tool = FunctionTool(functools.partial(connect, "secret", port=80))
    assert (tool.name, tool.description) == ("connect", "Connect to a host.")
    assert shown_parameters(tool) == ["host"]
    assert await tool.run_json({"host": "h"}, CancellationToken()) == "secret@h:80"


async def test_names_that_pydantic_reserves_are_arguments_like_others():
    def check(schema: str, json: int, _hidden: bool = True) -> tuple[str, int, bool]:
        return schema, json, _hidden

    tool = FunctionTool(check)
    assert shown_parameters(tool) == ["schema", "json", "_hidden"]
    assert await tool.run_json({"schema": "s", "json": 1}, CancellationToken()) == ("s", 1, True)


async def test_callable_objects_are_tools():
    class Adder:
        """Adds."""

        async def __call__(self, a: int, b: int) -> int:
            return a + b

    tool = FunctionTool(Adder(), "Adds.")
    assert tool.name == "Adder"
    assert await tool.run_json({"a": 1, "b": 2}, CancellationToken()) == 3


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


async def test_a_plain_function_runs_in_a_thread_with_the_context_of_the_caller():
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("seen")

    def where() -> tuple[str, bool]:
        return variable.get(), threading.current_thread() is threading.main_thread()

    tool = FunctionTool(where)
    assert await tool.run_json({}, CancellationToken()) == ("seen", False)


async def test_what_a_plain_function_raises_reaches_the_caller():
    def fail(kind: str) -> None:
        raise {"key": KeyError, "stop": StopIteration}[kind]("reason")

    tool = FunctionTool(fail)
    with pytest.raises(KeyError, match="reason"):
        await tool.run_json({"kind": "key"}, CancellationToken())
    with pytest.raises(RuntimeError, match="StopIteration"):
        await tool.run_json({"kind": "stop"}, CancellationToken())


async def test_a_function_may_take_the_cancellation_token():
    async def wait(cancellation_token: CancellationToken, seconds: int) -> bool:
        return cancellation_token.is_cancelled()

    tool = FunctionTool(wait)
    assert shown_parameters(tool) == ["seconds"]
    token = CancellationToken()
    assert await tool.run_json({"seconds": 1}, token) is False


async def test_cancelling_the_token_ends_an_async_function():
    token, ended = CancellationToken(), asyncio.Event()

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(token.cancel)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(asyncio.CancelledError):
        await FunctionTool(wait).run_json({}, token)
    assert ended.is_set()


@pytest.mark.parametrize("outcome", ["result", "error"])
async def test_a_cancelled_caller_leaves_a_plain_function_behind(
    outcome: str, caplog: pytest.LogCaptureFixture
):
    token, release = CancellationToken(), threading.Event()
    logged = asyncio.Event()
    loop = asyncio.get_running_loop()

    def block() -> str:
        loop.call_soon_threadsafe(token.cancel)
        release.wait()
        if outcome == "error":
            raise ValueError("late")
        return "late"

    class Notice(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.set()

    notice = Notice()
    logging.getLogger("teams").addHandler(notice)
    try:
        with pytest.raises(asyncio.CancelledError):
            await FunctionTool(block).run_json({}, token)
        assert not logged.is_set()
        release.set()
        await logged.wait()
    finally:
        logging.getLogger("teams").removeHandler(notice)
    assert "tool block ended after its run was cancelled" in caplog.text


def test_a_cancelled_plain_function_does_not_hold_the_process():
    program = textwrap.dedent(
        """
        import asyncio, threading
        from teams.core import CancellationToken
        from teams.tools import FunctionTool

        async def main():
            token, loop = CancellationToken(), asyncio.get_running_loop()

            def block() -> None:
                loop.call_soon_threadsafe(token.cancel)
                threading.Event().wait()

            try:
                await FunctionTool(block).run_json({}, token)
            except asyncio.CancelledError:
                print("cancelled", flush=True)

        asyncio.run(main())
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=8, check=True
    )
    assert (ended.stdout, ended.stderr) == ("cancelled\n", "")


def test_a_function_that_ends_after_its_loop_only_leaves_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
):
    release, threads = threading.Event(), []
    token = CancellationToken()

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def block() -> None:
            threads.append(threading.current_thread())
            loop.call_soon_threadsafe(token.cancel)
            release.wait()

        with pytest.raises(asyncio.CancelledError):
            await FunctionTool(block).run_json({}, token)

    asyncio.run(main())
    release.set()
    threads[0].join()
    assert "tool block ended after its run did" in caplog.text


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


def test_traits_are_promises_of_the_tool_and_none_by_default():
    assert FunctionTool(get_weather).traits == ToolTraits()
    assert FunctionTool(get_weather, traits=ToolTraits(read_only=True)).traits.read_only
