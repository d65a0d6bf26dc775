"""An assistant's tools: those of its workbenches, and its hand-offs."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter
from teams.agents import AssistantAgent
from teams.agents._assistant_tools import NOT_REACHED, AgentTools, ToolStates
from teams.base import Handoff, Response, TeamError, ToolCall
from teams.core import CancellationToken
from teams.memory import ListMemory
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    MessageFactory,
    ModelClientStreamingChunkEvent,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams.tools import (
    BaseStreamTool,
    BaseTool,
    FunctionTool,
    StaticStreamWorkbench,
    StaticWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    ToolSchema,
    ToolTraits,
)
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, texts
from tests.teams._tools.test_base import Counter
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


def look(place: str) -> str:
    return f"seen {place}"


READER = FunctionTool(look, "Look.", traits=ToolTraits(read_only=True))


def call_of(name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(key="k", id="1", name=name, arguments=arguments, agent=("al",))


class Listing(StaticWorkbench):
    """A workbench that counts how often it is asked, and can fail."""

    def __init__(self, *tools: BaseTool[Any, Any]) -> None:
        super().__init__([*tools])
        self.asked = 0
        self.fails = False

    async def list_tools(self) -> list[ToolSchema]:
        self.asked += 1
        if self.fails:
            raise OSError("gone")
        return await super().list_tools()


async def unheard(item: Any) -> None:
    raise AssertionError(item)


async def test_a_call_is_told_what_its_tool_promises():
    bench = Listing(READER)
    tools = AgentTools("al", ScriptedModel(), None, bench, ["bo"])
    assert tools.traits("look").read_only
    assert tools.traits("unheard") == ToolTraits()
    found = await tools.resolve(call_of("look"))
    assert (found.read_only, found.schema) == (True, READER.schema)
    assert not (await tools.resolve(call_of("unheard"))).known
    assert await tools.resolve(call_of("transfer_to_bo")) == call_of("transfer_to_bo")
    bench.fails = True
    assert (await tools.resolve(call_of("look"))).server == NOT_REACHED


async def test_what_the_model_was_told_is_asked_for_again_when_it_is_forgotten():
    bench = Listing(READER)
    tools = AgentTools("al", ScriptedModel(), None, bench, ["bo"])
    names = [
        each["name"] if isinstance(each, dict) else each.name for each in await tools.schemas()
    ]
    assert names == ["look", "transfer_to_bo"]
    await tools.resolve(call_of("look"))
    assert bench.asked == 1
    tools.forget_listed()
    await tools.resolve(call_of("look"))
    assert bench.asked == 2


async def test_a_call_runs_or_hands_off():
    tools = AgentTools("al", ScriptedModel(), [READER], None, ["bo"])
    token = CancellationToken()
    seen = await tools.execute(call_of("look", '{"place": "here"}'), token, unheard)
    assert (seen.to_text(), seen.is_error) == ("seen here", False)
    handed = await tools.hand_off(call_of("transfer_to_bo"))
    assert "bo" in handed.to_text()
    assert await tools.execute(call_of("transfer_to_bo"), token, unheard) == handed


class Asked(Counter):
    """A tool whose calls can pause, and what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self._name = "asked"
        self.told: list[str] = []

    def message_types(self) -> list[type[BaseAgentEvent | BaseChatMessage]]:
        return [ThoughtEvent]

    async def end_call(self, key: str) -> None:
        self.told.append(f"end {key}")

    async def reset(self) -> None:
        self.told.append("reset")

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        writer.value(path + "count", self.count)

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        self.count = reader.value(path + "count")


async def test_tools_with_a_state_are_saved_in_both_formats():
    counter, asked = Counter(), Asked()
    counter.count, asked.count = 1, 2
    states = ToolStates([StaticWorkbench([READER, counter, asked])])
    saved = await states.save_state()
    assert saved == {"asked": {"count": 2}, "counter": {"count": 1}}
    writer = SnapshotWriter.for_team(MessageFactory())
    await states.write_state("tools/", writer)
    reader = SnapshotReader([writer.finish()], MessageFactory())
    for load in ("load_state", "read_state"):
        again, other = Counter(), Asked()
        loaded = ToolStates([StaticWorkbench([again, other])])
        if load == "load_state":
            await loaded.load_state(saved)
        else:
            await loaded.read_state("tools/", reader)
        assert (again.count, other.count) == (1, 2)


async def test_tools_whose_calls_can_pause_are_told_of_their_end():
    asked = Asked()
    states = ToolStates([StaticWorkbench([READER, asked])])
    assert states.message_types() == [ThoughtEvent]
    await states.end_call("k")
    await states.reset()
    assert asked.told == ["end k", "reset"]
