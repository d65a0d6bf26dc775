"""Answers of an assistant: texts, typed answers, summaries, hand-offs."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Handoff, TeamError
from teams.messages import (
    HandoffMessage,
    StructuredMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
)
from teams.models import AssistantMessage, FunctionExecutionResultMessage, UserMessage
from tests.fakes.scripted_model import USAGE, ScriptedModel, calls, says
from tests.fakes.streams import texts
from tests.teams.agents.asked_assistants import City, add, fail


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


async def test_an_answer_that_is_not_of_the_type_fails_and_leaves_no_trace():
    model = ScriptedModel(says("nonsense", thought="hm"), '{"name": "Rome", "degrees": 2}')
    agent = AssistantAgent("a", model, output_content_type=City)
    team = RoundRobinGroupChat([agent], max_turns=1)
    with pytest.raises(TeamError, match="ValidationError"):
        await team.run(task="hi")
    result = await team.run()
    assert [type(item).__name__ for item in result.messages] == ["StructuredMessage[City]"]
    assert model.requests[0] == model.requests[1]


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
