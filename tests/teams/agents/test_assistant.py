"""The turns of an AssistantAgent."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Handoff, Response, TeamError
from teams.core import CancellationToken, Image
from teams.memory import ListMemory, MemoryContent, MemoryMimeType
from teams.messages import (
    HandoffMessage,
    MemoryQueryEvent,
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
)
from teams.model_context import BufferedChatCompletionContext
from teams.models import AssistantMessage, FunctionExecutionResultMessage, UserMessage
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
from tests.fakes.scripted_model import USAGE, ScriptedModel, calls, says
from tests.fakes.streams import everything, texts


async def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


async def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


def kinds(model: ScriptedModel, request: int = -1) -> list[str]:
    return [message["type"] for message in model.messages(request)]


# Without tools


async def test_an_answer_is_a_text_message_with_its_usage():
    model = ScriptedModel("hello there")
    agent = AssistantAgent("a", model, system_message="Be nice.")
    result = await agent.run(task="hi")
    (_, answer) = result.messages
    assert isinstance(answer, TextMessage)
    assert (answer.content, answer.source, answer.models_usage) == ("hello there", "a", USAGE)
    request = model.requests[0]
    assert request["messages"] == [
        {"type": "SystemMessage", "content": "Be nice."},
        {"type": "UserMessage", "content": "hi", "source": "user"},
    ]
    assert (request["tools"], request["tool_choice"], request["json_output"]) == ([], "auto", None)


async def test_without_a_system_message_none_is_sent():
    model = ScriptedModel("x")
    await AssistantAgent("a", model, system_message=None).run(task="hi")
    assert [message["type"] for message in model.requests[0]["messages"]] == ["UserMessage"]


async def test_a_turn_goes_on_from_the_turns_before():
    model = ScriptedModel("one", "two")
    agent = AssistantAgent("a", model)
    await agent.run(task="1")
    await agent.run(task="2")
    assert model.texts() == ["1", "one", "2"]


async def test_an_agent_can_be_asked_directly():
    agent = AssistantAgent("a", ScriptedModel(says("fine", thought="hm")))
    said = [TextMessage(content="hi", source="user")]
    response = await agent.on_messages(said, CancellationToken())
    assert response.chat_message.to_text() == "fine"
    assert [item.to_text() for item in response.inner_messages or ()] == ["hm"]
    items = await everything(
        AssistantAgent("a", ScriptedModel(says("fine", thought="hm"))).on_messages_stream(
            said, CancellationToken()
        )
    )
    assert [type(item) for item in items] == [ThoughtEvent, Response]


async def test_a_thought_comes_before_the_answer_and_stays_in_the_context():
    model = ScriptedModel(says("fine", thought="hm"), "again")
    agent = AssistantAgent("a", model)
    assert texts(await agent.run(task="hi")) == ["hi", "hm", "fine"]
    await agent.run(task="ho")
    assert model.messages()[1] == {
        "type": "AssistantMessage",
        "content": "fine",
        "thought": "hm",
        "source": "a",
    }


async def test_the_model_context_decides_what_is_sent():
    model = ScriptedModel("1", "2", "3")
    agent = AssistantAgent("a", model, model_context=BufferedChatCompletionContext(2))
    for task in "xyz":
        await agent.run(task=task)
    assert model.texts() == ["2", "z"]


async def test_images_are_told_in_words_to_a_model_that_does_not_see():
    image = Image.from_base64(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
    )
    for vision in (True, False):
        model = ScriptedModel("x", "y", vision=vision)
        agent = AssistantAgent("a", model)
        await agent.run(task=MultiModalMessage(content=["see", image], source="user"))
        await agent.run(task="and?")
        first, second = (model.messages(request)[0]["content"] for request in (0, 1))
        assert first == second
        assert isinstance(first, list) if vision else first == "see\n<image>"


async def test_an_empty_answer_is_an_empty_message_and_a_valid_context():
    for empty in ("", calls()):
        model = ScriptedModel(empty, "fine")
        agent = AssistantAgent("a", model)
        assert texts(await agent.run(task="hi")) == ["hi", ""]
        assert texts(await agent.run(task="ho")) == ["ho", "fine"]


# Memory


async def test_memories_are_queried_once_a_turn_before_the_first_call():
    def remember(*facts: str) -> ListMemory:
        return ListMemory(
            "m", [MemoryContent(content=fact, mime_type=MemoryMimeType.TEXT) for fact in facts]
        )

    model = ScriptedModel(calls(("add", {"a": 1})), "done")
    agent = AssistantAgent(
        "a",
        model,
        tools=[add],
        memory=[remember("sky is blue"), remember(), remember("grass is green")],
        max_tool_iterations=2,
    )
    result = await agent.run(task="hi")
    events = [item for item in result.messages if isinstance(item, MemoryQueryEvent)]
    assert [[memory.content for memory in event.content] for event in events] == [
        ["sky is blue"],
        ["grass is green"],
    ]
    assert [type(item) for item in result.messages[1:4]] == [
        MemoryQueryEvent,
        MemoryQueryEvent,
        ToolCallRequestEvent,
    ]
    sent = model.requests[0]["messages"]
    assert [message["type"] for message in sent] == [
        "SystemMessage",
        "UserMessage",
        "SystemMessage",
        "SystemMessage",
    ]
    assert "sky is blue" in sent[2]["content"]
    assert len(model.requests[1]["messages"]) == 6


# Tools


async def test_calls_are_announced_run_and_summarised():
    model = ScriptedModel(calls(("add", {"a": 1, "b": 2}), ("add", {"a": 5}), thought="count"))
    agent = AssistantAgent("a", model, tools=[add])
    items = (await agent.run(task="hi")).messages[1:]
    thought, request, execution, summary = items
    assert isinstance(thought, ThoughtEvent)
    assert isinstance(request, ToolCallRequestEvent)
    assert [call.name for call in request.content] == ["add", "add"]
    assert request.models_usage == USAGE
    assert isinstance(execution, ToolCallExecutionEvent)
    assert [(r.content, r.call_id, r.name, r.is_error) for r in execution.content] == [
        ("3", "call_1", "add", False),
        ("6", "call_2", "add", False),
    ]
    assert isinstance(summary, ToolCallSummaryMessage)
    assert summary.content == "3\n6"
    assert summary.tool_calls == request.content
    assert summary.results == execution.content
    assert model.requests[0]["tools"] == ["add"]


async def test_results_come_in_the_order_of_the_calls_whoever_is_first():
    second_done = asyncio.Event()

    async def first() -> str:
        await second_done.wait()
        return "1"

    async def second() -> str:
        second_done.set()
        return "2"

    model = ScriptedModel(calls(("first", {}), ("second", {})))
    agent = AssistantAgent("a", model, tools=[first, second])
    assert texts(await agent.run(task="hi"))[-1] == "1\n2"


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


async def test_a_memory_may_return_nothing_from_an_update():
    class Silent(ListMemory):
        async def update_context(self, model_context: Any) -> Any:
            await super().update_context(model_context)

    model = ScriptedModel("fine")
    memory = Silent(memory_contents=[MemoryContent(content="blue", mime_type="text/plain")])
    agent = AssistantAgent("a", model, memory=[memory])
    assert texts(await agent.run(task="hi")) == ["hi", "fine"]
    assert "blue" in str(await agent.model_context.get_messages())


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


# Iterations, summaries, reflection


async def test_tools_run_once_unless_more_iterations_are_allowed():
    wanted = calls(("add", {"a": 1}))
    for iterations, expected in ((1, 1), (2, 2), (3, 3)):
        model = ScriptedModel(*[wanted] * 5)
        agent = AssistantAgent("a", model, tools=[add], max_tool_iterations=iterations)
        assert texts(await agent.run(task="hi"))[-1] == "2"
        assert len(model.requests) == expected


async def test_the_loop_ends_with_the_first_text():
    model = ScriptedModel(calls(("add", {"a": 1})), "two")
    agent = AssistantAgent("a", model, tools=[add], max_tool_iterations=9)
    assert texts(await agent.run(task="hi"))[-1] == "two"
    assert kinds(model) == ["UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"]


async def test_a_summary_line_is_formatted():
    wanted = calls(("add", {"a": 1}), ("fail", {}))
    agent = AssistantAgent(
        "a",
        ScriptedModel(wanted),
        tools=[add, fail],
        tool_call_summary_format="{tool_name}({arguments}) {is_error}: {result}",
    )
    first, second = texts(await agent.run(task="hi"))[-1].split("\n")
    assert first == 'add({"a": 1}) False: 2'
    assert second.startswith("fail({}) True: ")

    formatted = AssistantAgent(
        "a",
        ScriptedModel(wanted),
        tools=[add, fail],
        tool_call_summary_format="unused",
        tool_call_summary_formatter=lambda call, result: "bad" if result.is_error else call.name,
    )
    assert texts(await formatted.run(task="hi"))[-1] == "add\nbad"


async def test_reflection_asks_once_more_without_tools():
    model = ScriptedModel(calls(("add", {"a": 1})), says("it is two", thought="well"))
    agent = AssistantAgent("a", model, tools=[add], reflect_on_tool_use=True)
    result = await agent.run(task="hi")
    assert [type(item) for item in result.messages][-2:] == [ThoughtEvent, TextMessage]
    assert texts(result)[-1] == "it is two"
    assert (model.requests[1]["tools"], model.requests[1]["tool_choice"]) == ([], "none")
    assert kinds(model)[-1] == "FunctionExecutionResultMessage"


@pytest.mark.parametrize("stubborn", [calls(("add", {"a": 9})), ""], ids=["call", "nothing"])
async def test_a_reflection_that_says_nothing_falls_back_to_the_summary(stubborn: Any):
    model = ScriptedModel(calls(("add", {"a": 1})), stubborn, "next")
    agent = AssistantAgent("a", model, tools=[add], reflect_on_tool_use=True)
    assert texts(await agent.run(task="hi"))[-1] == "2"
    assert texts(await agent.run(task="go on"))[-1] == "next"


# Structured output


class City(BaseModel):
    name: str
    degrees: int


async def test_a_structured_answer_is_a_message_of_its_type():
    model = ScriptedModel('{"name": "Rome", "degrees": 30}')
    agent = AssistantAgent(
        "a",
        model,
        output_content_type=City,
        output_content_type_format="{name}: {degrees} degrees",
    )
    answer = (await agent.run(task="hi")).messages[-1]
    assert isinstance(answer, StructuredMessage)
    assert answer.content == City(name="Rome", degrees=30)
    assert answer.to_text() == "Rome: 30 degrees"
    assert model.requests[0]["json_output"] == "City"
    assert [kind.__name__ for kind in agent.produced_message_types] == ["StructuredMessage[City]"]


async def test_with_structured_output_tools_are_reflected_on_by_default():
    model = ScriptedModel(calls(("add", {"a": 1})), '{"name": "Rome", "degrees": 2}')
    agent = AssistantAgent("a", model, tools=[add], output_content_type=City)
    answer = (await agent.run(task="hi")).messages[-1]
    assert isinstance(answer, StructuredMessage)
    assert answer.content.degrees == 2


async def test_an_answer_that_is_not_of_the_type_fails_and_leaves_no_trace():
    model = ScriptedModel(says("nonsense", thought="hm"), '{"name": "Rome", "degrees": 2}')
    agent = AssistantAgent("a", model, output_content_type=City)
    team = RoundRobinGroupChat([agent], max_turns=1)
    with pytest.raises(TeamError, match="ValidationError"):
        await team.run(task="hi")
    result = await team.run()
    assert [type(item).__name__ for item in result.messages] == ["StructuredMessage[City]"]
    assert model.requests[0] == model.requests[1]


# Hand-offs


async def test_a_handoff_is_the_answer_with_the_other_calls_as_its_context():
    model = ScriptedModel(
        calls(("add", {"a": 1}), ("transfer_to_bob", {}), ("fail", {}), thought="t")
    )
    agent = AssistantAgent("a", model, tools=[add, fail], handoffs=["bob"])
    result = await agent.run(task="hi")
    answer = result.messages[-1]
    assert isinstance(answer, HandoffMessage)
    assert (answer.target, answer.source) == ("bob", "a")
    assert answer.content == "Transferred to bob, adopting the role of bob immediately."
    asked, answered = answer.context
    assert isinstance(asked, AssistantMessage)
    assert asked.thought == "t"
    assert [call.name for call in asked.content if not isinstance(call, str)] == ["add", "fail"]
    assert isinstance(answered, FunctionExecutionResultMessage)
    assert [result.name for result in answered.content] == ["add", "fail"]
    execution = result.messages[-2]
    assert isinstance(execution, ToolCallExecutionEvent)
    assert [result.name for result in execution.content] == ["add", "transfer_to_bob", "fail"]


async def test_a_handoff_alone_carries_the_thought_if_there_is_one():
    for thought, expected in ((None, []), ("I can't", ["I can't"])):
        model = ScriptedModel(calls(("transfer_to_bob", {}), thought=thought))
        answer = (await AssistantAgent("a", model, handoffs=["bob"]).run(task="hi")).messages[-1]
        assert isinstance(answer, HandoffMessage)
        assert [message.content for message in answer.context] == expected


async def test_of_several_handoffs_the_first_counts_with_a_warning():
    model = ScriptedModel(calls(("to_bob", {}), ("transfer_to_eve", {})))
    bob = Handoff(target="bob", name="to_bob", message="Yours, Bob.")
    agent = AssistantAgent("a", model, handoffs=[bob, "eve"])
    with pytest.warns(UserWarning, match="Multiple handoffs detected"):
        answer = (await agent.run(task="hi")).messages[-1]
    assert isinstance(answer, HandoffMessage)
    assert (answer.target, answer.content) == ("bob", "Yours, Bob.")


async def test_a_handoff_ends_the_tool_loop():
    model = ScriptedModel(calls(("add", {"a": 1})), calls(("transfer_to_bob", {})))
    agent = AssistantAgent("a", model, tools=[add], handoffs=["bob"], max_tool_iterations=9)
    answer = (await agent.run(task="hi")).messages[-1]
    assert isinstance(answer, HandoffMessage)
    assert answer.context == []
    assert set(agent.produced_message_types) == {
        TextMessage,
        ToolCallSummaryMessage,
        HandoffMessage,
    }


async def test_the_context_of_a_handoff_comes_before_its_text():
    context = [
        UserMessage(content="first", source="x"),
        AssistantMessage(content="then", source="y"),
    ]
    model = ScriptedModel("fine")
    agent = AssistantAgent("a", model)
    await agent.run(
        task=HandoffMessage(content="over to you", source="x", target="a", context=list(context))
    )
    assert model.texts() == ["first", "then", "over to you"]


# Streaming


async def test_chunks_name_the_message_they_build_up_to():
    model = ScriptedModel(["one ", "two"])
    agent = AssistantAgent("a", model, model_client_stream=True)
    items = await everything(agent.run_stream(task="hi"))
    _, *chunks, answer, result = items
    assert [chunk.content for chunk in chunks] == ["one ", "two"]
    assert {chunk.full_message_id for chunk in chunks} == {answer.id}
    assert {chunk.source for chunk in chunks} == {"a"}
    assert len({chunk.id for chunk in chunks}) == 2
    assert list(result.messages) == [items[0], answer]


async def test_a_thought_takes_the_id_of_the_chunks():
    model = ScriptedModel(["hm fine", says("fine", thought="hm")])
    agent = AssistantAgent("a", model, model_client_stream=True)
    _, chunk, thought, answer, _ = await everything(agent.run_stream(task="hi"))
    assert isinstance(thought, ThoughtEvent)
    assert chunk.full_message_id == thought.id != answer.id


async def test_the_reflection_streams_under_an_id_of_its_own():
    model = ScriptedModel(["let me see", calls(("add", {"a": 1}))], "it is two")
    agent = AssistantAgent(
        "a", model, tools=[add], reflect_on_tool_use=True, model_client_stream=True
    )
    items = await everything(agent.run_stream(task="hi"))
    first, *rest = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    answer = items[-2]
    assert {chunk.full_message_id for chunk in rest} == {answer.id}
    assert first.full_message_id != answer.id


async def test_a_stream_without_a_result_or_with_wrong_pieces_is_an_error():
    class Silent(ScriptedModel):
        async def create_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
            yield "half "

    with pytest.raises(RuntimeError, match="without a final result"):
        await AssistantAgent("a", Silent(), model_client_stream=True).run(task="hi")
    for wrong in (1, None, b"bytes"):
        model = ScriptedModel([wrong])
        with pytest.raises(RuntimeError, match=type(wrong).__name__):
            await AssistantAgent("a", model, model_client_stream=True).run(task="hi")

    class Odd(ScriptedModel):
        async def create(self, *args: Any, **options: Any) -> Any:
            return "text"

    with pytest.raises(RuntimeError, match="str"):
        await AssistantAgent("a", Odd()).run(task="hi")


# What the constructor refuses


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


# State, reset, component


async def test_a_reset_agent_has_forgotten_everything():
    model = ScriptedModel("one", "two")
    agent = AssistantAgent("a", model)
    await agent.run(task="1")
    await agent.on_reset(CancellationToken())
    await agent.run(task="2")
    assert model.texts() == ["2"]


async def test_an_agents_state_is_its_context():
    agent = AssistantAgent("a", ScriptedModel(calls(("add", {"a": 1}))), tools=[add])
    await agent.run(task="hi")
    state = json.loads(json.dumps(await agent.save_state()))
    assert set(state) == {"type", "version", "llm_context"}
    assert state["type"] == "AssistantAgentState"
    assert [m["type"] for m in state["llm_context"]["messages"]] == [
        "UserMessage",
        "AssistantMessage",
        "FunctionExecutionResultMessage",
    ]
    model = ScriptedModel("fine")
    fresh = AssistantAgent("a", model)
    await fresh.load_state(state)
    await fresh.run(task="ho")
    assert len(model.messages()) == 4


async def test_an_agent_left_early_finishes_its_turn_and_then_turns_to_the_new_task():
    model = ScriptedModel(calls(("add", {"a": 1})), "fine")
    agent = AssistantAgent("a", model, tools=[add])
    stream = agent.run_stream(task="hi")
    while not isinstance(await anext(stream), ToolCallExecutionEvent):
        pass
    await stream.aclose()
    assert texts(await agent.run(task="ho")) == ["ho", "2", "fine"]
    assert model.texts() == ["hi", "ho"]


async def test_a_closed_agent_stops_its_workbenches():
    stopped: list[str] = []

    class Bench(StaticWorkbench):
        async def stop(self) -> None:
            stopped.append("stopped")

    await AssistantAgent("a", ScriptedModel(), workbench=[Bench([]), Bench([])]).close()
    assert stopped == ["stopped"] * 2


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


async def test_usage_of_every_model_call_is_reported_once():
    model = ScriptedModel(calls(("add", {"a": 1})), says("two", thought="hm"))
    agent = AssistantAgent("a", model, tools=[add], max_tool_iterations=2)
    result = await agent.run(task="hi")
    assert [item.models_usage for item in result.messages if item.models_usage] == [USAGE, USAGE]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("length", {"finish_reason": "length"}),
        ("content_filter", {"finish_reason": "content_filter"}),
        ("stop", {}),
        ("unknown", {}),
    ],
)
async def test_an_end_that_left_something_unsaid_is_told_with_the_message(reason: Any, told: Any):
    answer = says("Once upon").model_copy(update={"finish_reason": reason})
    result = await AssistantAgent("ann", ScriptedModel(answer)).run(task="Tell.")
    message = result.messages[-1]
    assert isinstance(message, TextMessage)
    assert (message.content, message.metadata) == ("Once upon", told)
