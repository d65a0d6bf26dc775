"""ConversableAgents as participants of every kind of team."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest

from teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import AssistantAgent, SocietyOfMindAgent
from teams.base import TaskResult, run_hooks
from teams.core import CancellationToken, FunctionCall
from teams.messages import StopMessage, TextMessage, ToolCallExecutionEvent, ToolCallRequestEvent
from teams.models import CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import AgentTool
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import agent, saying


def said(result: TaskResult) -> list[tuple[str, str]]:
    return [(each.source, each.to_text()) for each in result.messages]


async def test_a_round_tells_each_what_the_others_said():
    al, bo = saying("al", "one", "two"), saying("bo", "uno")
    team = RoundRobinGroupChat([al, bo], max_turns=3)
    result = await team.run(task="go")
    assert said(result) == [("user", "go"), ("al", "one"), ("bo", "uno"), ("al", "two")]
    (conversation,) = bo.chat_messages.values()
    assert [(each["name"], each["role"], each["content"]) for each in conversation] == [
        ("user", "user", "go"),
        ("al", "user", "one"),
        ("bo", "assistant", "uno"),
    ]


async def test_an_agent_that_ends_the_conversation_says_its_last_text_and_stop():
    al = saying("al", "one", None)
    result = await RoundRobinGroupChat([al], max_turns=2).run(task="go")
    assert isinstance(result.messages[-1], StopMessage)
    assert result.messages[-1].content == "one"


def test_a_swarm_that_begins_with_one_says_how_to_begin():
    told = r"'al' .* can't hand off: begin with .* AssistantAgent with handoffs=\['al'\]"
    with pytest.raises(ValueError, match=told):
        Swarm([saying("al", "one"), saying("bo", "two")])


async def test_other_kinds_of_teams_take_it_as_it_is():
    al, bo = saying("al", "one"), saying("bo", "two")
    call = FunctionCall(id="1", name="transfer_to_al", arguments="{}")
    hands_off = ReplayChatCompletionClient(
        [
            CreateResult(
                finish_reason="function_calls",
                content=[call],
                usage=RequestUsage(prompt_tokens=0, completion_tokens=0),
                cached=False,
            )
        ],
        model_info={
            "vision": False,
            "function_calling": True,
            "json_output": False,
            "family": "unknown",
            "structured_output": False,
        },
    )
    planner = AssistantAgent("planner", hands_off, handoffs=["al"])
    swarm = await Swarm([planner, al], max_turns=2).run(task="go")
    assert said(swarm)[-1] == ("al", "one")
    al = saying("al", "one")
    builder = DiGraphBuilder().add_node(al).add_node(bo).add_edge(al, bo)
    flow = GraphFlow(builder.get_participants(), builder.build())
    assert said(await flow.run(task="go"))[1:3] == [("al", "one"), ("bo", "two")]
    al, bo = saying("al", "one"), saying("bo", "two")
    selector = SelectorGroupChat([al, bo], ReplayChatCompletionClient(["bo"]), max_turns=1)
    assert said(await selector.run(task="go"))[-1] == ("bo", "two")
    al = saying("al", "one")
    inner = RoundRobinGroupChat([al], max_turns=1)
    society = SocietyOfMindAgent("society", inner, ReplayChatCompletionClient(["in short: one"]))
    assert said(await society.run(task="go"))[-1] == ("society", "in short: one")
    ledger = {
        "is_request_satisfied": {"answer": False, "reason": ""},
        "is_in_loop": {"answer": False, "reason": ""},
        "is_progress_being_made": {"answer": True, "reason": ""},
        "next_speaker": {"answer": "al", "reason": ""},
        "instruction_or_question": {"answer": "Speak.", "reason": ""},
    }
    model = ReplayChatCompletionClient(["facts", "plan", json.dumps(ledger), "the end"])
    magentic = MagenticOneGroupChat([saying("al", "one")], model, max_turns=1)
    assert ("al", "one") in said(await magentic.run(task="go"))
    tool = AgentTool(saying("al", "one"))
    answer = await tool.run_json({"task": "go"}, CancellationToken())
    assert "one" in tool.return_value_as_string(answer)


def model_agents(server: FakeOpenAI, ran: list[str]) -> list[Any]:
    entry = {"model": "gpt-4o", "api_key": "sk-test", "base_url": server.url}
    al = agent("al", llm_config={"config_list": [entry]})

    @al.register_for_execution()
    @al.register_for_llm(description="Add one.")
    def add(number: int) -> int:
        ran.append(f"add {number}")
        return number + 1

    return [al, saying("bo", "fine", "fine")]


@pytest.mark.parametrize("compact", [False, True])
async def test_its_own_calls_loop_until_a_text_and_nothing_is_done_twice(compact: bool):
    answers = (Reply(calls=(Call(name="add", arguments={"number": 1}),)), Reply(text="It is 2."))
    ran: list[str] = []
    items: list[Any] = []
    state: Any = None
    async with FakeOpenAI(*answers) as server:
        while True:
            team = RoundRobinGroupChat(model_agents(server, ran), max_turns=2)
            if state is not None:
                await (team.load_snapshot([state]) if compact else team.load_state(state))
            async with aclosing(team.run_stream(task=None if state else "go")) as stream:
                item = await anext(stream)
                if isinstance(item, TaskResult):
                    break
                items.append(item)
                state = await (team.save_snapshot() if compact else team.save_state())
            state = state if compact else json.loads(json.dumps(state))
        assert len(server.requests) == 2
        assert server.requests[1].roles == ["system", "user", "assistant", "tool"]
    assert ran == ["add 1"]
    assert [type(item) for item in items] == [
        TextMessage,
        ToolCallRequestEvent,
        ToolCallExecutionEvent,
        TextMessage,
        TextMessage,
    ]


async def test_a_question_suspends_the_team_around_it():
    from teams.base import InputRequired

    async def ask(prompt: str, token: CancellationToken | None) -> str:
        raise InputRequired(prompt)

    al = agent("al", human_input_mode="ALWAYS")
    team = RoundRobinGroupChat([al], max_turns=1)
    with run_hooks(ask=ask):
        result = await team.run(task="go")
        again = await team.run()
    assert [each.request_id for each in result.pending] == [
        each.request_id for each in again.pending
    ]

    async def answer(prompt: str, token: CancellationToken | None) -> str:
        return "mine"

    with run_hooks(ask=answer):
        assert said(await team.run())[-1] == ("al", "mine")


async def test_nested_chats_are_steps_of_its_turn():
    al, critic = agent("al"), saying("critic", "too long")
    al.register_nested_chats([{"recipient": critic, "max_turns": 1}], trigger=lambda _: True)
    team = RoundRobinGroupChat([al], max_turns=1)
    items: list[Any] = [item async for item in team.run_stream(task="go")]
    inner = items[1:-2]
    assert [(each.source, each.content) for each in inner] == [("al", "go"), ("critic", "too long")]
    assert {each.metadata["chat"] for each in inner} == {"al>critic"}
    assert items[-2].content == "too long"
