"""An assistant's tools: those of its workbenches, and its hand-offs."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Handoff, Response, TeamError
from teams.core import CancellationToken
from teams.memory import ListMemory
from teams.messages import (
    ModelClientStreamingChunkEvent,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams.tools import (
    BaseStreamTool,
    FunctionTool,
    StaticStreamWorkbench,
    StaticWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    ToolTraits,
)
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, texts
from tests.teams.agents.asked_assistants import add, fail


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("fail", {}), "no luck"),
        (("add", "{no json"), "JSON"),
        (("add", "[1]"), "JSON object"),
        (("add", {"a": "x"}), "a: "),
        (("unheard", {}), "Error: tool 'unheard' not found in any workbench"),
    ],
    ids=["raises", "no-json", "no-object", "wrong-type", "unknown"],
)
async def test_what_goes_wrong_with_a_call_is_told_to_the_model(call: Any, told: str):
    model = ScriptedModel(calls(call, ("add", {"a": 1})), "sorry")
    agent = AssistantAgent("a", model, tools=[add, fail], reflect_on_tool_use=True)
    assert texts(await agent.run(task="hi"))[-1] == "sorry"
    wrong, right = model.messages()[-1]["content"]
    assert told in wrong["content"]
    assert (wrong["is_error"], right["is_error"], right["content"]) == (True, False, "2")


async def test_a_workbench_may_take_its_arguments_by_keyword():
    class ByKeyword(StaticWorkbench):
        async def call_tool(self, *, name: str, **given: Any) -> ToolResult:  # pyright: ignore[reportIncompatibleMethodOverride]
            asked.append((name, given["arguments"], given["call_id"]))
            assert isinstance(given["cancellation_token"], CancellationToken)
            return await super().call_tool(name, **given)

    class Stream(StaticStreamWorkbench):
        async def call_tool_stream(self, *, name: str, **given: Any) -> AsyncGenerator[Any, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
            asked.append((name, given["arguments"], given["call_id"]))
            async for item in super().call_tool_stream(name, **given):
                yield item

    for workbench in (ByKeyword([FunctionTool(add, "")]), Stream([FunctionTool(add, "")])):
        asked = list[Any]()
        model = ScriptedModel(calls(("add", {"a": 1, "b": 2})))
        result = await AssistantAgent("a", model, workbench=workbench).run(task="hi")
        assert texts(result)[-1] == "3"
        assert [entry[:2] for entry in asked] == [("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize("raised", [ValueError("no luck"), KeyError(), asyncio.CancelledError()])
@pytest.mark.parametrize("place", ["call_tool", "list_tools"])
async def test_a_workbench_that_raises_anything_fails_only_the_call(
    raised: BaseException, place: str
):
    listed = [0]

    class Broken(StaticWorkbench):
        async def list_tools(self) -> Any:
            listed[0] += 1
            if place == "list_tools" and listed[0] == 3:
                raise raised
            return await super().list_tools()

        async def call_tool(self, *args: Any, **options: Any) -> Any:
            if place == "call_tool":
                raise raised
            return await super().call_tool(*args, **options)

    # What was listed for the model is called at once; for another tool the list is asked again.
    wanted = "late" if place == "list_tools" else "add"
    model = ScriptedModel(calls((wanted, {"a": 1})), "sorry")
    agent = AssistantAgent(
        "a", model, workbench=Broken([FunctionTool(add, "")]), max_tool_iterations=2
    )
    assert texts(await agent.run(task="hi"))[-1] == "sorry"
    assert model.messages()[-1]["content"][0]["is_error"] is True


async def test_a_workbench_is_asked_for_its_list_once_for_each_request_to_the_model():
    class Counting(StaticWorkbench):
        listed = 0

        async def list_tools(self) -> Any:
            self.listed += 1
            return await super().list_tools()

    workbench = Counting([FunctionTool(add, "")])
    model = ScriptedModel(calls(("add", {"a": 1}), ("add", {"a": 2})), "done")
    agent = AssistantAgent("a", model, workbench=workbench, max_tool_iterations=2)
    await agent.run(task="hi")
    assert workbench.listed == len(model.requests) == 2


@pytest.mark.parametrize("answer", [None, "text", {"result": []}])
async def test_a_workbench_that_answers_with_nonsense_fails_only_the_call(answer: Any):
    class Odd(StaticWorkbench):
        async def call_tool(self, *args: Any, **options: Any) -> Any:
            return answer

    class OddStream(StaticStreamWorkbench):
        async def call_tool_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
            yield answer

    for bench in (Odd([FunctionTool(add, "")]), OddStream([FunctionTool(add, "")])):
        model = ScriptedModel(calls(("add", {"a": 1})), "sorry")
        agent = AssistantAgent("a", model, workbench=bench, max_tool_iterations=2)
        assert texts(await agent.run(task="hi"))[-1] == "sorry"
        assert model.messages()[-1]["content"][0]["is_error"] is True


async def test_an_error_that_a_tool_declares_fatal_ends_the_run():
    fatal = FunctionTool(fail, "", traits=ToolTraits(fatal_errors=True))
    agent = AssistantAgent("a", ScriptedModel(calls(("fail", {}))), tools=[fatal])
    with pytest.raises(TeamError, match="no luck") as caught:
        await RoundRobinGroupChat([agent], max_turns=1).run(task="hi")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ValueError, match="no luck"):
        await agent.run()


async def test_several_workbenches_are_searched_in_order():
    benches = [
        StaticWorkbench([FunctionTool(add, "")]),
        StaticWorkbench(
            [FunctionTool(fail, ""), FunctionTool(add, "")],
            tool_overrides={"add": ToolOverride(name="plus")},
        ),
    ]
    model = ScriptedModel(calls(("add", {"a": 1}), ("plus", {"a": 2})))
    agent = AssistantAgent("a", model, workbench=benches)
    assert texts(await agent.run(task="hi"))[-1] == "2\n3"
    assert model.requests[0]["tools"] == ["add", "fail", "plus"]


class Text(BaseModel):
    text: str


class Stream(BaseStreamTool[Text, TextMessage, Text]):
    def __init__(self) -> None:
        super().__init__(Text, Text, "stream", "")

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
        return args

    async def run_stream(
        self, args: Text, cancellation_token: CancellationToken
    ) -> AsyncGenerator[Any, None]:
        yield ModelClientStreamingChunkEvent(content="ch", source="tool")
        yield TextMessage(content=f"on {args.text}", source="tool")
        yield {"something": "else"}
        yield args


async def test_what_a_stream_tool_says_stands_between_request_and_execution():
    model = ScriptedModel(calls(("stream", {"text": "x"}), ("add", {"a": 1})))
    agent = AssistantAgent("a", model, tools=[Stream(), add])
    items = await everything(
        agent.on_messages_stream([TextMessage(content="hi", source="user")], CancellationToken())
    )
    assert [type(item) for item in items] == [
        ToolCallRequestEvent,
        ModelClientStreamingChunkEvent,
        TextMessage,
        ToolCallExecutionEvent,
        Response,
    ]
    inner = items[-1].inner_messages
    assert [type(item) for item in inner] == [
        ToolCallRequestEvent,
        TextMessage,
        ToolCallExecutionEvent,
    ]
    assert items[-1].chat_message.to_text() == '{"text": "x"}\n2'


NO_TOOLS = ScriptedModel(function_calling=False)


@pytest.mark.parametrize(
    ("options", "error", "says_"),
    [
        ({"tools": [add, add]}, ValueError, "unique"),
        ({"handoffs": ["bob", "bob"]}, ValueError, "unique"),
        ({"handoffs": [Handoff(target="bob", name="add")], "tools": [add]}, ValueError, "add"),
        ({"handoffs": [Handoff(target="add", name="go")], "tools": [add]}, ValueError, "add"),
        ({"handoffs": ["add"], "tools": [add]}, ValueError, "add"),
        ({"tools": [add], "workbench": StaticWorkbench([])}, ValueError, "workbench"),
        ({"tools": ["add"]}, ValueError, "str"),
        ({"handoffs": [1]}, ValueError, "int"),
        ({"memory": ListMemory()}, TypeError, "memory"),
        ({"max_tool_iterations": 0}, ValueError, "max_tool_iterations"),
        ({"tools": [add], "model_client": NO_TOOLS}, ValueError, "function calling"),
        ({"handoffs": ["bob"], "model_client": NO_TOOLS}, ValueError, "function calling"),
        ({"workbench": StaticWorkbench([]), "model_client": NO_TOOLS}, ValueError, "function call"),
        ({"name": "not a name"}, ValueError, "identifier"),
    ],
)
def test_what_cannot_work_is_refused_at_once(options: Any, error: Any, says_: str):
    given: dict[str, Any] = {"name": "a", "model_client": ScriptedModel(), **options}
    with pytest.raises(error, match=says_):
        AssistantAgent(**given)


def test_a_handoff_fills_in_what_is_not_given():
    handoff = Handoff(target="Bob")
    assert handoff.name == "transfer_to_bob"
    assert handoff.message == "Transferred to Bob, adopting the role of Bob immediately."
    with pytest.raises(ValueError, match="identifier"):
        Handoff(target="bob", name="no name")


async def test_a_tool_that_answers_with_several_parts_is_told_as_lines():
    class Parts(StaticWorkbench):
        async def call_tool(
            self,
            name: str,
            arguments: Mapping[str, Any] | None = None,
            cancellation_token: CancellationToken | None = None,
            call_id: str | None = None,
        ) -> ToolResult:
            parts = [TextResultContent(content=text) for text in ("one", "two")]
            return ToolResult(name=name, result=[*parts])

    agent = AssistantAgent(
        "a", ScriptedModel(calls(("add", {"a": 1}))), workbench=Parts([FunctionTool(add, "")])
    )
    assert texts(await agent.run(task="hi"))[-1] == "one\ntwo"
