"""Calls on agents and teams behind tools."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from teams.agents import AssistantAgent, SocietyOfMindAgent, UserProxyAgent
from teams.base import InputRequired, Response, TaskResult, ToolCall, run_hooks
from teams.core import CancellationToken
from teams.messages import (
    ModelClientStreamingChunkEvent,
    StructuredMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
)
from teams.tools import (
    AgentTool,
    StaticStreamWorkbench,
    StaticWorkbench,
    StreamWorkbench,
    TeamTool,
    TextResultContent,
    ToolResult,
    ToolSchema,
)
from tests.fakes.agents import Streamer, Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, take, texts
from tests.teams._team_tools.asked_agents import add, ask, chief, helper, moved, results, ways
from tests.teams.test_safe_points import Words


async def test_what_is_said_inside_appears_between_the_request_and_its_results():
    inner = helper(
        calls(("add", {"a": 1, "b": 2})), "it is three", tools=[add], max_tool_iterations=2
    )
    agent = chief(ask("helper", "count"), tools=[AgentTool(inner)])
    *items, result = await everything(agent.run_stream(task="hi"))
    assert [(type(item), item.source) for item in items] == [
        (TextMessage, "user"),
        (ToolCallRequestEvent, "chief"),
        (TextMessage, "user"),
        (ToolCallRequestEvent, "helper"),
        (ToolCallExecutionEvent, "helper"),
        (TextMessage, "helper"),
        (ToolCallExecutionEvent, "chief"),
        (ToolCallSummaryMessage, "chief"),
    ]
    assert items[2].content == "count"
    assert results(items) == ["helper: it is three"]
    assert list(result.messages) == items


async def test_it_is_part_of_the_inner_messages_but_chunks_are_not():
    agent = chief(
        ask("helper", "count"), tools=[AgentTool(helper("it is", model_client_stream=True))]
    )
    *items, response = await everything(
        agent.on_messages_stream([TextMessage(content="hi", source="user")], CancellationToken())
    )
    assert isinstance(response, Response)
    chunks = [item for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert [chunk.content for chunk in chunks] == ["it ", "is"]
    assert response.inner_messages == [item for item in items if item not in chunks]


async def test_the_first_chunk_inside_arrives_before_the_second_exists():
    second = asyncio.Event()
    inner = helper(["it ", second, "is"], model_client_stream=True)
    team = RoundRobinGroupChat([chief(ask("helper", "x"), tools=[AgentTool(inner)])], max_turns=1)
    stream = team.run_stream(task="hi")
    assert (await take(stream, 4))[-1].content == "it "
    second.set()
    assert isinstance((await everything(stream))[-1], TaskResult)


async def test_the_agent_remembers_earlier_calls():
    inner = helper("one", "two")
    agent = chief(ask("helper", "first"), ask("helper", "second"), tools=[AgentTool(inner)])
    team = RoundRobinGroupChat([agent], max_turns=2)
    await team.run(task="hi")
    model = inner._model_client
    assert isinstance(model, ScriptedModel)
    assert model.texts() == ["first", "one", "second"]


@ways
async def test_it_does_so_in_another_process_too(way: str):
    def build() -> tuple[RoundRobinGroupChat, ScriptedModel, ScriptedModel]:
        inner, crew_model = ScriptedModel("one", "one"), ScriptedModel("uno", "uno")
        member = AssistantAgent("member", crew_model, system_message=None)
        crew = RoundRobinGroupChat([member], max_turns=1)
        both = calls(("helper", {"task": "t"}), ("crew", {"task": "u"}))
        tools = [
            AgentTool(AssistantAgent("helper", inner, system_message=None)),
            TeamTool(crew, "crew", "works"),
        ]
        team = RoundRobinGroupChat([chief(both, both, tools=tools)], max_turns=1)
        return team, inner, crew_model

    team, *models = build()
    await team.run(task="hi")
    fresh, *fresh_models = build()
    team = await moved(team, fresh, way)
    await team.run(task="more")
    first, second = models if way == "same" else fresh_models
    assert first.texts() == ["t", "one", "t"]
    assert second.texts() == ["u", "uno", "u"]


async def test_a_reset_of_the_caller_makes_it_forget():
    inner = Talker("helper", "x")
    agent = chief(ask("helper", "a"), tools=[AgentTool(inner)])
    team = RoundRobinGroupChat([agent], max_turns=1)
    await team.run(task="hi")
    await team.reset()
    assert inner.calls == ["reset"]


async def test_calls_side_by_side_run_one_after_the_other_in_their_order():
    """AutoGen refuses the second one: the team is already running."""
    model = ScriptedModel("one", "two", "three")
    member = AssistantAgent("member", model, system_message=None)
    crew = RoundRobinGroupChat([member], max_turns=1)
    agent = chief(ask("crew", "a", "b", "c"), tools=[TeamTool(crew, "crew", "works")])
    result = await agent.run(task="hi")
    assert results(result.messages) == ["member: one", "member: two", "member: three"]
    assert model.texts() == ["a", "one", "b", "two", "c"]


async def test_other_tools_do_not_wait_for_it():
    freed = asyncio.Event()

    def free() -> str:
        """Free it."""
        freed.set()
        return "freed"

    async def wait() -> str:
        await freed.wait()
        return "waited"

    inner = Talker("helper", lambda: wait())
    wanted = calls(("helper", {"task": "a"}), ("helper", {"task": "b"}), ("free", {}))
    agent = chief(wanted, tools=[AgentTool(inner), free])
    assert results((await agent.run(task="hi")).messages) == [
        "helper: waited",
        "helper: waited",
        "freed",
    ]


async def test_two_callers_at_once_share_it_and_neither_is_refused():
    running = 0
    most = 0

    async def work() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "done"

    inner = Talker("helper", lambda: work())
    people = [
        AssistantAgent(name, ScriptedModel(ask("helper", "x", "y")), tools=[AgentTool(inner)])
        for name in ("left", "right")
    ]
    flow = GraphFlow([*people], DiGraphBuilder().add_node(people[0]).add_node(people[1]).build())
    result = await flow.run(task="hi")
    summaries = [m for m in result.messages if isinstance(m, ToolCallSummaryMessage)]
    assert [m.content for m in summaries] == ["helper: done\nhelper: done"] * 2
    assert most == 1
    assert len(inner.given) == 4


async def test_a_tool_that_calls_it_on_its_own_makes_new_calls():
    tool = AgentTool(Talker("helper", "one", "two"))

    async def twice() -> str:
        """Call it twice."""
        found = [await tool.run_json({"task": "x"}, CancellationToken()) for _ in range(2)]
        return " ".join(tool.return_value_as_string(result) for result in found)

    agent = chief(calls(("twice", {})), tools=[twice])
    assert results((await agent.run(task="hi")).messages) == ["helper: one helper: two"]


async def test_an_error_inside_is_a_result_that_says_what_went_wrong():
    inner = Talker("x", LookupError("no idea"), "fine")
    crew = RoundRobinGroupChat([inner], max_turns=1)
    agent = chief(ask("crew", "a", "b"), tools=[TeamTool(crew, "crew", "works")])
    result = await agent.run(task="hi")
    assert results(result.messages) == ["LookupError: no idea", "x: fine"]
    assert inner.given == [["a"], ["a", "b"]]


async def test_an_agent_that_failed_can_be_called_again():
    inner = helper(OSError("gone"), "fine")
    agent = chief(ask("helper", "a", "b"), tools=[AgentTool(inner)])
    assert results((await agent.run(task="hi")).messages) == ["OSError: gone", "helper: fine"]


async def test_arguments_that_are_no_task_are_refused():
    agent = chief(calls(("helper", {"job": "x"})), tools=[AgentTool(Talker("helper"))])
    (text,) = results((await agent.run(task="hi")).messages)
    assert text.startswith("Invalid values: task: Field required")


async def test_a_message_the_team_does_not_know_is_an_error_and_the_next_call_works():
    strange = StructuredMessage[Words](content=Words(text="v"), source="x")
    crew = RoundRobinGroupChat([Talker("x", strange, "fine")], max_turns=1)
    agent = chief(ask("crew", "a", "b"), tools=[TeamTool(crew, "crew", "works")])
    first, second = results((await agent.run(task="hi")).messages)
    assert first.startswith("ValueError: Message type StructuredMessage[Words] is not registered")
    assert second == "x: fine"


async def test_an_agent_that_gives_no_response_is_an_error():
    async def script() -> AsyncGenerator[Any, None]:
        yield TextMessage(content="...", source="helper")

    agent = chief(ask("helper", "a"), tools=[AgentTool(Streamer("helper", script))])
    (text,) = results((await agent.run(task="hi")).messages)
    assert text == "RuntimeError: Agent 'helper' ended its turn without a response."


class Human:
    def __init__(self) -> None:
        self.answers: dict[str, str] = {}

    async def ask(self, prompt: str, cancellation_token: CancellationToken | None) -> str:
        request_id = UserProxyAgent.InputRequestContext.request_id()
        if request_id not in self.answers:
            raise InputRequired(prompt)
        return self.answers[request_id]


@ways
async def test_a_team_inside_that_waits_goes_on_where_it_stood(way: str):
    human = Human()
    added: list[int] = []

    def count(a: int) -> int:
        """Count."""
        added.append(a)
        return len(added)

    def build() -> RoundRobinGroupChat:
        boss = UserProxyAgent("boss", input_func=human.ask)
        first = Talker("first", "before")
        crew = RoundRobinGroupChat([first, boss], max_turns=2)
        wanted = calls(("crew", {"task": "a"}), ("count", {"a": 1}), ("crew", {"task": "b"}))
        tools = [TeamTool(crew, "crew", "works"), count]
        agent = AssistantAgent("chief", ScriptedModel(wanted, speaker="chief"), tools=tools)
        return RoundRobinGroupChat([agent], max_turns=1)

    team = build()
    result = await team.run(task="hi")
    (request,) = result.pending
    assert request.agent == ("chief", "crew", "boss")
    assert added == [1]
    said = [texts(result)[2:]]
    for _ in range(2):
        team = await moved(team, build(), way)
        again = await team.run()
        assert (texts(again), list(again.pending)) == ([], [request])
    human.answers[request.request_id] = "first answer"
    team = await moved(team, build(), way)
    result = await team.run()
    said.append(texts(result))
    (other,) = result.pending
    assert other.request_id != request.request_id
    human.answers[other.request_id] = "second answer"
    team = await moved(team, build(), way)
    result = await team.run()
    assert results(result.messages) == [
        "first: before\n\nboss: first answer",
        "1",
        "first: before\n\nboss: second answer",
    ]
    assert said == [["a", "before", ""], ["first answer", "b", "before", ""]]
    assert texts(result)[0] == "second answer"
    assert added == [1]


@ways
async def test_an_agent_inside_whose_call_awaits_approval_goes_on_with_it(way: str):
    answers: dict[str, bool] = {}
    asked: list[ToolCall] = []

    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        if call.name == "add":
            asked.append(call)
            if call.key not in answers:
                raise InputRequired(f"Run {call.name}?", kind="approval")
        return await proceed(call)

    def build() -> RoundRobinGroupChat:
        model = ScriptedModel(calls(("add", {"a": 1, "b": 2})), "it is 3", speaker="helper")
        inner = AssistantAgent("helper", model, tools=[add], max_tool_iterations=2)
        return RoundRobinGroupChat(
            [chief(ask("helper", "a"), tools=[AgentTool(inner)])], max_turns=1
        )

    with run_hooks(intercept=intercept):
        team = build()
        (request,) = (await team.run(task="hi")).pending
        assert (request.agent, request.kind) == (("chief", "helper", "helper"), "approval")
        team = await moved(team, build(), way)
        answers[asked[0].key] = True
        result = await team.run()
    assert asked[0] == asked[1]
    assert results(result.messages) == ["helper: it is 3"]
    assert [type(item) for item in result.messages] == [
        ToolCallExecutionEvent,
        TextMessage,
        ToolCallExecutionEvent,
        ToolCallSummaryMessage,
    ]


@ways
async def test_it_may_be_deep_inside(way: str):
    """A tool is a team, whose society has a team as tool.

    The society holds an agent whose tool is another team.
    """
    human = Human()

    def build() -> RoundRobinGroupChat:
        boss = UserProxyAgent("boss", input_func=human.ask)
        inmost = TeamTool(RoundRobinGroupChat([boss], max_turns=1), "desk", "asks")
        clerk = AssistantAgent("clerk", ScriptedModel(ask("desk", "c")), tools=[inmost])
        mind = SocietyOfMindAgent(
            "mind", RoundRobinGroupChat([clerk], max_turns=1), ScriptedModel("so it is")
        )
        crew = TeamTool(RoundRobinGroupChat([mind], max_turns=1), "crew", "works")
        inner = RoundRobinGroupChat([chief(ask("crew", "b"), tools=[crew])], name="in", max_turns=1)
        return RoundRobinGroupChat([inner], max_turns=1)

    team = build()
    (request,) = (await team.run(task="hi")).pending
    assert request.agent == ("in", "chief", "crew", "mind", "clerk", "desk", "boss")
    team = await moved(team, build(), way)
    human.answers[request.request_id] = "yes"
    result = await team.run()
    (told,) = results(result.messages)
    assert told.split("\n\n")[1:] == ["boss: yes", "clerk: boss: yes", "mind: so it is"]


@ways
async def test_an_agent_without_a_turn_record_starts_its_turn_again(way: str):
    answers: list[str] = []

    def line() -> str:
        if not answers:
            raise InputRequired("What now?", kind="choice")
        return answers[0]

    inner = [Talker("helper", line), Talker("helper", line)]

    def build(number: int) -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [chief(ask("helper", "a"), tools=[AgentTool(inner[number])])], max_turns=1
        )

    team = build(0)
    (request,) = (await team.run(task="hi")).pending
    assert (request.agent, request.prompt) == (("chief", "helper", "helper"), "What now?")
    team = await moved(team, build(1), way)
    assert list((await team.run()).pending) == [request]
    answers.append("this")
    assert results((await team.run()).messages) == ["helper: this"]
    assert all(given == ["a"] for talker in inner for given in talker.given)


async def test_while_one_caller_waits_for_a_human_another_one_does_not_disturb_it():
    human = Human()
    boss = UserProxyAgent("boss", input_func=human.ask)
    tool = TeamTool(RoundRobinGroupChat([boss], max_turns=1), "crew", "works")
    people = [
        AssistantAgent(name, ScriptedModel(ask("crew", name)), tools=[tool])
        for name in ("left", "right")
    ]
    flow = GraphFlow([*people], DiGraphBuilder().add_node(people[0]).add_node(people[1]).build())
    pending = (await flow.run(task="hi")).pending
    assert {request.agent for request in pending} == {("left", "crew", "boss")}
    human.answers[pending[0].request_id] = "one"
    result = await flow.run()
    (other,) = result.pending
    assert other.agent == ("right", "crew", "boss")
    human.answers[other.request_id] = "two"
    result = await flow.run()
    assert results(result.messages) == ["boss: two"]


async def test_a_call_that_gets_another_result_is_given_up():
    human = Human()
    denied = False

    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        if denied:
            return ToolResult(name=call.name, result=[TextResultContent(content="no")])
        return await proceed(call)

    boss = UserProxyAgent("boss", input_func=human.ask)
    crew = RoundRobinGroupChat([Talker("a", "x"), boss], max_turns=2)
    agent = chief(ask("crew", "one"), ask("crew", "two"), tools=[TeamTool(crew, "crew", "works")])
    team = RoundRobinGroupChat([agent], max_turns=1)
    with run_hooks(intercept=intercept):
        await team.run(task="hi")
        denied = True
        assert results((await team.run()).messages) == ["no"]
        denied = False
        result = await team.run(task="again")
    assert texts(result)[2:] == ["two", ""]  # the boss's turn had been given up: still his
    assert len(result.pending) == 1


async def test_cancelling_the_run_gives_up_the_one_inside():
    hanging = asyncio.Event()
    inner_model = ScriptedModel(hanging, "fine")
    inner = AssistantAgent("helper", inner_model, system_message=None)
    model = ScriptedModel(ask("helper", "a"), ask("helper", "b"))
    agent = AssistantAgent("chief", model, tools=[AgentTool(inner)])
    team = RoundRobinGroupChat([agent], max_turns=1)
    token = CancellationToken()
    run = asyncio.ensure_future(team.run(task="hi", cancellation_token=token))
    await inner_model.asked()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    result = await team.run(task="on")
    assert results(result.messages) == ["helper: fine"]
    assert inner_model.texts() == ["a", "b"]


async def test_leaving_the_run_keeps_the_one_inside_as_it_stands():
    """Also if the one inside was working at that moment."""
    hanging = asyncio.Event()
    inner_model = ScriptedModel(hanging, "fine")
    inner = AssistantAgent("helper", inner_model, system_message=None)

    async def say() -> str:
        """Say."""
        return "said"

    speaker = Talker("speaker", "one")
    wanted = calls(("speaker", {"task": "x"}), ("helper", {"task": "a"}))
    agent = chief(wanted, tools=[AgentTool(inner), AgentTool(speaker), say])
    team = RoundRobinGroupChat([agent], max_turns=1)
    stream = team.run_stream(task="hi")
    async for item in stream:
        if getattr(item, "source", "") == "speaker":
            await inner_model.asked()
            break
    await stream.aclose()
    rest = await team.run()
    assert results(rest.messages) == ["speaker: one", "helper: fine"]
    assert inner_model.texts(1) == ["a"]
    assert len(speaker.given) == 1


async def test_a_call_whose_run_was_left_for_good_does_not_hold_others_for_ever(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("teams._team_tools.task_runner.PATIENCE", 0.02)
    shared = AssistantAgent(
        "helper", ScriptedModel(["one ", "two"], "one two", "three"), model_client_stream=True
    )
    left = RoundRobinGroupChat([chief(ask("helper", "a"), tools=[AgentTool(shared)])], max_turns=1)
    async with aclosing(left.run_stream(task="hi")) as stream:
        async for item in stream:
            if getattr(item, "source", "") == "helper":
                break
    model = ScriptedModel(ask("helper", "b"), ask("helper", "c"))
    other = AssistantAgent("other", model, tools=[AgentTool(shared)])
    refused = await other.run(task="hi")
    assert "in the middle of another call" in results(refused.messages)[0]
    await left.run()
    assert results((await other.run(task="again")).messages) == ["helper: three"]


async def test_called_directly_it_streams_and_gives_its_result_last():
    tool = AgentTool(Talker("helper", "one", "two"))
    *items, result = await everything(tool.run_json_stream({"task": "a"}, CancellationToken()))
    assert [item.content for item in items] == ["a", "one"]
    assert list(result.messages) == items
    args: Any = tool.args_type().model_validate({"task": "b"})
    assert texts(await tool.run(args, CancellationToken())) == ["b", "two"]


async def test_called_directly_again_it_goes_on_with_what_waited():
    human = Human()
    boss = UserProxyAgent("boss", input_func=human.ask)
    tool = TeamTool(RoundRobinGroupChat([boss], max_turns=1), "crew", "works")
    with pytest.raises(InputRequired) as raised:
        await tool.run_json({"task": "a"}, CancellationToken())
    (request,) = raised.value.requests
    assert request.agent == ("crew", "boss")
    human.answers[request.request_id] = "yes"
    result = await tool.run_json({"task": "a"}, CancellationToken())
    assert texts(result) == ["a", "", "yes"]


async def test_called_directly_and_cancelled_it_can_be_called_again():
    model = ScriptedModel(asyncio.Event(), "fine")
    tool = AgentTool(AssistantAgent("helper", model, system_message=None))
    token = CancellationToken()
    run = asyncio.ensure_future(tool.run_json({"task": "a"}, token))
    await model.asked()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert texts(await tool.run_json({"task": "b"}, CancellationToken())) == ["b", "fine"]


class Relay(StreamWorkbench):
    """A user's workbench around another one.

    The caller knows nothing of the inner one.
    """

    component_type = "workbench"

    def __init__(self, inner: StaticStreamWorkbench) -> None:
        self.inner = inner

    async def list_tools(self) -> list[ToolSchema]:
        return await self.inner.list_tools()

    async def call_tool(self, *args: Any, **options: Any) -> ToolResult:
        return await self.inner.call_tool(*args, **options)

    async def call_tool_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(self.inner.call_tool_stream(*args, **options)) as stream:
            async for item in stream:
                yield item

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def reset(self) -> None: ...

    async def save_state(self) -> dict[str, Any]:
        return {}

    async def load_state(self, state: Any) -> None: ...


async def test_behind_a_workbench_of_a_users_own_calls_are_given_up_when_the_caller_goes_on():
    model = ScriptedModel("one", asyncio.Event(), "two", "three")
    tool = AgentTool(AssistantAgent("helper", model, system_message=None))
    agent = AssistantAgent(
        "chief",
        ScriptedModel(*(ask("helper", task) for task in "abcd")),
        workbench=Relay(StaticStreamWorkbench([tool])),
    )
    team = RoundRobinGroupChat([agent], max_turns=1)
    assert results((await team.run(task="hi")).messages) == ["helper: one"]
    token = CancellationToken()
    run = asyncio.ensure_future(team.run(task="hi", cancellation_token=token))
    await model.asked(2)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    for answer in ("two", "three"):
        assert results((await team.run(task="hi")).messages) == [f"helper: {answer}"]
    calls_left: Any = (await tool.save_state_json())["calls"]
    assert len(calls_left) == 1


async def test_a_caller_at_rest_holds_no_call_in_its_state():
    agent = chief(ask("helper", "a"), tools=[AgentTool(helper("x")), add])
    await agent.run(task="hi")
    tools = (await agent.save_state())["tools"]
    assert list(tools) == ["helper"]
    assert tools["helper"]["calls"] == {}
    assert tools["helper"]["runner"]["type"] == "AssistantAgentState"


async def test_a_state_of_autogen_leaves_the_agents_behind_tools_as_they_are():
    inner = helper("x")
    agent = chief(ask("helper", "a"), tools=[AgentTool(inner)])
    await agent.run(task="hi")
    state = {
        "type": "AssistantAgentState",
        "version": "1.0.0",
        "llm_context": {"messages": []},
    }
    await agent.load_state(state)
    assert len(await inner.model_context.get_messages()) == 2
    bench = StaticWorkbench([AgentTool(inner)])
    await bench.load_state({"type": "StaticWorkbenchState", "tools": {"helper": {}}})
    assert len(await inner.model_context.get_messages()) == 2


async def test_a_workbench_saves_and_loads_it():
    inner, fresh = helper("x"), helper("y")
    await AgentTool(inner).run_json({"task": "a"}, CancellationToken())
    state = json.loads(json.dumps(await StaticWorkbench([AgentTool(inner)]).save_state()))
    await StaticWorkbench([AgentTool(fresh)]).load_state(state)
    assert await fresh.model_context.get_messages() == await inner.model_context.get_messages()
