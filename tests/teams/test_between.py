"""A run's caller can add messages before the next participant's turn."""

from collections.abc import Callable, Sequence

import pytest

from teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import AssistantAgent
from teams.base import run_hooks
from teams.conditions import MaxMessageTermination
from teams.core import FunctionCall
from teams.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from teams.models import CreateResult, ModelInfo, RequestUsage, UserMessage
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import TeamTool

CAN_CALL = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=False
)


def model(*answers: str | CreateResult) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(list(answers), model_info=CAN_CALL)


def call(name: str, arguments: str = "{}") -> CreateResult:
    return CreateResult(
        finish_reason="function_calls",
        content=[FunctionCall(id="1", name=name, arguments=arguments)],
        usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
        cached=False,
    )


class Says:
    """Says something once, the second time it is asked."""

    def __init__(self, at: int = 2) -> None:
        self.at = at
        self.asked = 0

    async def __call__(self) -> Sequence[BaseChatMessage]:
        self.asked += 1
        if self.asked != self.at:
            return []
        return [TextMessage(content="and be kind", source="user")]


def heard(client: ReplayChatCompletionClient) -> list[str]:
    messages = client.create_calls[-1]["messages"]
    return [str(message.content) for message in messages if isinstance(message, UserMessage)]


Make = Callable[[AssistantAgent, AssistantAgent], BaseGroupChat]


def graph(first: AssistantAgent, second: AssistantAgent) -> GraphFlow:
    builder = DiGraphBuilder().add_node(first).add_node(second).add_edge(first, second)
    return GraphFlow(builder.get_participants(), builder.build())


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: RoundRobinGroupChat([a, b], max_turns=2),
        lambda a, b: SelectorGroupChat([a, b], model("b"), max_turns=2, selector_func=other),
        graph,
    ],
    ids=["round robin", "selector", "graph"],
)
async def test_the_next_speaker_hears_it(make: Make):
    clients = [model("one"), model("two")]
    a, b = (AssistantAgent(name, client) for name, client in zip("ab", clients, strict=True))
    team, says = make(a, b), Says()
    with run_hooks(between=says):
        result = await team.run(task="go")
    assert "and be kind" not in heard(clients[0])
    assert "and be kind" in heard(clients[1])
    assert says.asked == 2
    assert [m.source for m in result.messages if isinstance(m, TextMessage)] == ["user", "a", "b"]


def other(messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> str:
    return "b" if any(message.source == "a" for message in messages) else "a"


async def test_a_swarm_hands_over_as_it_was_told_and_the_receiver_hears_it():
    clients = [model(call("transfer_to_b")), model("done")]
    a = AssistantAgent("a", clients[0], handoffs=["b"])
    b = AssistantAgent("b", clients[1])
    with run_hooks(between=Says()):
        await Swarm([a, b], termination_condition=MaxMessageTermination(4)).run(task="go")
    assert "and be kind" in heard(clients[1])


async def test_an_orchestrator_counts_it_to_its_task():
    ledger = (
        '{"is_request_satisfied": {"reason": "", "answer": %s},'
        ' "is_in_loop": {"reason": "", "answer": false},'
        ' "is_progress_being_made": {"reason": "", "answer": true},'
        ' "next_speaker": {"reason": "", "answer": "a"},'
        ' "instruction_or_question": {"reason": "", "answer": "say something"}}'
    )
    leader = model("facts", "plan", ledger % "false", ledger % "true", "the end")
    worker = model("something")
    team = MagenticOneGroupChat([AssistantAgent("a", worker)], leader)
    says = Says()
    with run_hooks(between=says):
        await team.run(task="go")
    assert says.asked >= 2
    assert any("and be kind" in text for text in heard(leader))


async def test_only_the_team_that_was_started_is_asked():
    inner_client, outer_client = (
        model("inner", "inner again"),
        model(call("crew", '{"task": "x"}'), "outer"),
    )
    crew = RoundRobinGroupChat([AssistantAgent("i", inner_client)], max_turns=2)
    tool = TeamTool(team=crew, name="crew", description="helps")
    agent = AssistantAgent("o", outer_client, tools=[tool], max_tool_iterations=2)
    says = Says()
    with run_hooks(between=says):
        await RoundRobinGroupChat([agent], max_turns=1).run(task="go")
    assert says.asked == 1
    assert heard(inner_client) == ["x"]
