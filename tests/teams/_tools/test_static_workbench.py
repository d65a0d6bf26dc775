"""Workbenches over a fixed list of tools."""

import json

import pytest

from teams.base import InputRequired
from teams.core import CancellationToken, Image
from teams.tools import (
    BaseStreamTool,
    FunctionTool,
    ImageResultContent,
    StaticStreamWorkbench,
    StaticWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    ToolTraits,
    Workbench,
)
from tests.teams._base.test_image import PNG
from tests.teams._tools.test_base import Count, Counter, Speller, Text


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def fail(message: str) -> None:
    """Fail."""
    raise ValueError(message)


async def wait_for_human() -> None:
    """Ask."""
    raise InputRequired("may I?", kind="approval")


async def fail_in_a_group() -> None:
    """Fail twice."""
    raise ExceptionGroup("both", [KeyError("a"), TimeoutError()])


def bench(*functions, **options) -> StaticWorkbench:
    return StaticWorkbench([FunctionTool(function) for function in functions], **options)


async def test_a_workbench_lists_and_calls_its_tools():
    async with bench(add, fail) as workbench:
        assert [tool["name"] for tool in await workbench.list_tools()] == ["add", "fail"]
        result = await workbench.call_tool("add", {"a": 1, "b": 2}, call_id="1")
        assert result == ToolResult(name="add", result=[TextResultContent(content="3")])
        await workbench.reset()


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("fail", {"message": "no such city"}, "ValueError: no such city"),
        ("add", {"a": 1, "b": "x"}, "Invalid values: b: Input should be a valid integer"),
        ("add", None, "Invalid values: a: Field required; b: Field required"),
        ("other", {}, "Tool other not found."),
        ("fail_in_a_group", {}, "KeyError: 'a'; TimeoutError"),
    ],
)
async def test_what_goes_wrong_is_a_result_for_the_model(name, arguments, said):
    result = await bench(add, fail, fail_in_a_group).call_tool(name, arguments)
    assert result.is_error
    assert result.to_text().startswith(said)


async def test_a_question_to_a_human_and_a_fatal_error_are_no_results():
    with pytest.raises(InputRequired, match="may I"):
        await bench(wait_for_human).call_tool("wait_for_human")
    fatal = StaticWorkbench([FunctionTool(fail, traits=ToolTraits(fatal_errors=True))])
    with pytest.raises(ValueError, match="stop"):
        await fatal.call_tool("fail", {"message": "stop"})


async def test_overrides_rename_and_redescribe():
    plus = ToolOverride(name="plus", description="Plus.")
    workbench = bench(add, fail, tool_overrides={"add": plus, "fail": ToolOverride(name="break")})
    first, second = await workbench.list_tools()
    assert (first["name"], first.get("description")) == ("plus", "Plus.")
    assert (second["name"], second.get("description")) == ("break", "Fail.")
    result = await workbench.call_tool("plus", {"a": 1, "b": 2})
    assert (result.name, result.to_text()) == ("plus", "3")
    assert (await workbench.call_tool("add", {"a": 1, "b": 2})).to_text() == "Tool add not found."


@pytest.mark.parametrize(
    "overrides",
    [
        {"add": ToolOverride(name="fail")},
        {"add": ToolOverride(name="x"), "fail": ToolOverride(name="x")},
        {"missing": ToolOverride(name="x")},
    ],
    ids=["taken", "twice", "unknown tool"],
)
def test_overrides_that_make_no_sense_are_refused(overrides):
    with pytest.raises(ValueError, match=r"called 'fail'|called 'x'|missing"):
        bench(add, fail, tool_overrides=overrides)


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="'add'"):
        bench(add, add)


def test_traits_are_known_by_the_name_the_model_calls():
    idempotent = ToolTraits(idempotent=True)
    workbench = StaticWorkbench(
        [FunctionTool(add, traits=idempotent)], {"add": ToolOverride(name="plus")}
    )
    assert workbench.tool_traits("plus") == idempotent
    assert workbench.tool_traits("add") == ToolTraits()


async def test_the_states_of_the_tools_are_the_state_of_the_workbench():
    tool, other = Counter(), Counter()
    workbench = StaticWorkbench([tool, FunctionTool(add)])
    await workbench.call_tool("counter", {"text": "a"})
    state = json.loads(json.dumps(await workbench.save_state()))
    assert state == {
        "type": "StaticWorkbenchState",
        "tools": {"counter": {"count": 1}, "add": {}},
    }
    await StaticWorkbench([other]).load_state(state)
    assert other.count == 1


async def test_a_workbench_round_trips_but_for_the_code_of_its_functions():
    overrides = {"add": ToolOverride(name="plus")}
    dumped = json.loads(bench(add, tool_overrides=overrides).dump_component().model_dump_json())
    loaded = Workbench.load_component(dumped, tool_overrides={"add": f"{__name__}:add"})
    assert (await loaded.call_tool("plus", {"a": 1, "b": 2})).to_text() == "3"


async def test_items_of_a_stream_tool_come_before_its_result():
    workbench = StaticStreamWorkbench([Speller(), FunctionTool(add)])
    items = [item async for item in workbench.call_tool_stream("speller", {"text": "ab"})]
    assert items[:2] == [Text(text="a"), Text(text="b")]
    assert items[2:] == [
        ToolResult(name="speller", result=[TextResultContent(content='{"count": 2}')])
    ]
    (result,) = [item async for item in workbench.call_tool_stream("add", {"a": 1, "b": 2})]
    assert result.to_text() == "3"
    (missing,) = [item async for item in workbench.call_tool_stream("missing")]
    assert missing.is_error


class Stepper(BaseStreamTool[Text, Count, Text]):
    """Yields a possible result at every step, and records its steps."""

    def __init__(self) -> None:
        super().__init__(Text, Text, "stepper", "Steps.")
        self.steps: list[str] = []

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
        raise NotImplementedError

    async def run_stream(self, args: Text, cancellation_token: CancellationToken):
        try:
            for letter in args.text:
                self.steps.append(letter)
                if letter == "!":
                    raise ValueError("enough")
                yield Count(count=0) if letter == "." else Text(text=letter)
        finally:
            self.steps.append("closed")


async def test_an_item_is_passed_on_before_the_next_is_asked_for():
    tool = Stepper()
    stream = StaticStreamWorkbench([tool]).call_tool_stream("stepper", {"text": "..a"})
    assert await anext(stream) == Count(count=0)
    assert tool.steps == ["."]
    await stream.aclose()
    assert tool.steps == [".", "closed"]


async def test_only_the_last_of_possible_results_is_the_result():
    workbench = StaticStreamWorkbench([Stepper()])
    items = [item async for item in workbench.call_tool_stream("stepper", {"text": "ab"})]
    assert items[0] == Text(text="a")
    assert items[1].to_text() == '{"text": "b"}'


async def test_a_stream_that_fails_ends_with_an_error_for_the_model():
    workbench = StaticStreamWorkbench([Stepper()])
    items = [item async for item in workbench.call_tool_stream("stepper", {"text": ".!"})]
    assert items[1].is_error
    assert items[1].to_text() == "ValueError: enough"


def test_results_are_told_as_text_with_a_word_for_images():
    result = ToolResult(
        name="look",
        result=[
            TextResultContent(content="here:"),
            ImageResultContent(content=Image.from_bytes(PNG)),
        ],
    )
    assert result.to_text() == "here:\n[image]"
    assert result.to_text(replace_image="<picture>") == "here:\n<picture>"
    assert ToolResult.model_validate_json(result.model_dump_json()) == result


def test_a_tool_that_no_model_can_be_told_of_is_refused_at_once():
    def look(place: str, count: int = 1) -> str:
        return place * count

    with pytest.raises(ValueError, match="count"):
        StaticStreamWorkbench([FunctionTool(look, "Looks.", strict=True)])
