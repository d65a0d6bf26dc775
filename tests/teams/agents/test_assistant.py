"""The turns of an AssistantAgent."""

import asyncio
import json
from typing import Any

import pytest

from teams.agents import AssistantAgent
from teams.base import Response
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
from teams.tools import StaticWorkbench
from tests.fakes.scripted_model import USAGE, ScriptedModel, calls, says
from tests.fakes.streams import everything, texts
from tests.teams.agents.asked_assistants import City, add


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


async def test_a_memory_may_return_nothing_from_an_update():
    class Silent(ListMemory):
        async def update_context(self, model_context: Any) -> Any:
            await super().update_context(model_context)

    model = ScriptedModel("fine")
    memory = Silent(memory_contents=[MemoryContent(content="blue", mime_type="text/plain")])
    agent = AssistantAgent("a", model, memory=[memory])
    assert texts(await agent.run(task="hi")) == ["hi", "fine"]
    assert "blue" in str(await agent.model_context.get_messages())


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


async def test_with_structured_output_tools_are_reflected_on_by_default():
    model = ScriptedModel(calls(("add", {"a": 1})), '{"name": "Rome", "degrees": 2}')
    agent = AssistantAgent("a", model, tools=[add], output_content_type=City)
    answer = (await agent.run(task="hi")).messages[-1]
    assert isinstance(answer, StructuredMessage)
    assert answer.content.degrees == 2


# Hand-offs


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


# What the constructor refuses


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
