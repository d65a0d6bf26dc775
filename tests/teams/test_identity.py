"""A message id belongs to one task, and to its retries."""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from openai import AsyncOpenAI

from teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from teams.agents import AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent
from teams.agents.azure import AzureAIAgent
from teams.agents.openai import OpenAIAgent, OpenAIAssistantAgent
from teams.agents.web_surfer import MultimodalWebSurfer
from teams.base import Team, TeamError
from teams.conditions import MaxMessageTermination
from teams.conversable import ConversableAgent, ConversableChat
from teams.messages import BaseChatMessage, ModelClientStreamingChunkEvent
from teams.models import ModelError
from teams.models.openai import OpenAIChatCompletionClient
from teams.tools import AgentTool, TeamTool
from tests.fakes.azure_agents import FakeAzureAgents
from tests.fakes.openai_script import Call, Fail, Fault, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_executor import ScriptedExecutor
from tests.gateway.journeys.test_magentic_one import ledger
from tests.teams.agents.azure.test_agent import project

HALF = "Half an answer that people saw"
LIMITED = Fail(status=429, message="Slow down.")
FAULTS = [
    Fault(kind="reset", after=3, text=HALF),
    Fault(kind="cut", after=3, text=HALF),
    Fault(kind="garbage", after=3, text=HALF),
    Fault(kind="error", after=3, text=HALF),
    LIMITED,
]
ANSWER = Reply(text="The whole answer.")


class World:
    """A server, and the clients of it."""

    def __init__(self, server: FakeOpenAI) -> None:
        self.server = server
        self.openai = AsyncOpenAI(api_key="sk-of-a-test", base_url=server.url, max_retries=0)
        self._made: list[OpenAIChatCompletionClient] = []

    def client(self) -> OpenAIChatCompletionClient:
        made = OpenAIChatCompletionClient(
            model="gpt-4o", api_key="sk-of-a-test", base_url=self.server.url, max_retries=0
        )
        self._made.append(made)
        return made

    async def close(self) -> None:
        await self.openai.close()
        for each in self._made:
            await each.close()

    def assistant(self, name: str = "ada", **more: Any) -> AssistantAgent:
        return AssistantAgent(name, self.client(), model_client_stream=True, **more)

    def conversable(self, name: str = "ada") -> ConversableAgent:
        config = {
            "model": "gpt-4o",
            "api_key": "sk-of-a-test",
            "base_url": self.server.url,
            "max_retries": 0,
        }
        return ConversableAgent(
            name,
            llm_config={"config_list": [config], "stream": True, "cache_seed": None},
            human_input_mode="NEVER",
            max_consecutive_auto_reply=9,
        )

    def said(self, request: int) -> str:
        """All that a request told the model."""
        return str(self.server.requests[request].messages)


@pytest.fixture
async def world(openai_server: FakeOpenAI) -> AsyncIterator[World]:
    made = World(openai_server)
    yield made
    await made.close()


class Blank:
    """A browser with empty pages that answer with themselves."""

    pages = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Any:
        return self

    def __await__(self) -> Any:
        return self
        yield


def alone(agent: Any) -> Team:
    return RoundRobinGroupChat([agent], max_turns=1)


def graph(world: World) -> Team:
    first, second = world.assistant("ada"), world.assistant("bob")
    flow = DiGraphBuilder().add_node(first).add_node(second).add_edge(first, second)
    return GraphFlow([first, second], flow.build(), termination_condition=MaxMessageTermination(9))


def chat(world: World) -> Team:
    starter = ConversableAgent("user", llm_config=False, human_input_mode="NEVER")
    return ConversableChat(starter, world.conversable(), max_turns=1, silent=True)


TEAMS: dict[str, Callable[[World], Team]] = {
    "assistant": lambda world: alone(world.assistant()),
    "code": lambda world: alone(
        CodeExecutorAgent(
            "ada",
            ScriptedExecutor(),
            model_client=world.client(),
            model_client_stream=True,
            approval_func=None,
        )
    ),
    "conversable": lambda world: alone(world.conversable()),
    "chat": chat,
    "society": lambda world: alone(
        SocietyOfMindAgent("mind", alone(world.assistant()), world.client())
    ),
    "hosted": lambda world: alone(
        OpenAIAgent("ada", "Answers.", world.openai, "gpt-4o", "Be kind.")
    ),
    "hosted assistant": lambda world: alone(
        OpenAIAssistantAgent("ada", "Answers.", world.openai, "gpt-4o", "Be kind.")
    ),
    "surfer": lambda world: alone(
        MultimodalWebSurfer("ada", world.client(), context=Blank())  # type: ignore[arg-type]
    ),
    "nested": lambda world: RoundRobinGroupChat(
        [RoundRobinGroupChat([world.assistant()], name="inner", max_turns=1)], max_turns=1
    ),
    "nested chat": lambda world: RoundRobinGroupChat([chat(world)], max_turns=1),
    "swarm": lambda world: Swarm(
        [world.assistant("ada", handoffs=["bob"]), world.assistant("bob")],
        termination_condition=MaxMessageTermination(2),
    ),
    "selector": lambda world: SelectorGroupChat(
        [world.assistant("ada"), world.assistant("bob")],
        world.client(),
        selector_func=lambda _: "ada",
        max_turns=1,
    ),
    "graph": graph,
}


async def play(team: Team, task: str | None) -> list[Any]:
    return [item async for item in team.run_stream(task=task, output_task_messages=False)]


async def break_off(team: Team, task: str | None) -> list[Any]:
    items: list[Any] = []
    stream = team.run_stream(task=task, output_task_messages=False)
    with suppress(TeamError):
        while True:
            items.append(await anext(stream))
    return items


def ids(items: list[Any]) -> set[str]:
    """Ids under which people were shown something."""
    chunks = [each for each in items if isinstance(each, ModelClientStreamingChunkEvent)]
    said = [each for each in items if isinstance(each, BaseChatMessage)]
    return {str(each.full_message_id) for each in chunks} | {each.id for each in said}


def text(items: list[Any]) -> str:
    return "".join(
        each.content for each in items if isinstance(each, ModelClientStreamingChunkEvent)
    )


STREAMING = ("assistant", "code", "conversable", "hosted", "hosted assistant")


@pytest.mark.parametrize(
    ("kind", "fault"),
    [(kind, each) for kind in TEAMS for each in (FAULTS if kind in STREAMING else FAULTS[1:2])],
)
async def test_the_next_task_has_ids_of_its_own_and_is_told_what_broke_off(
    kind: str, fault: Any, world: World
):
    team = TEAMS[kind](world)
    world.server.script(fault)
    broken = await break_off(team, "first")
    world.server.script(*[ANSWER] * 3)
    if kind in ("assistant", "nested", "chat", "conversable"):  # and in another process
        state, team = await team.save_state(), TEAMS[kind](world)
        await team.load_state(state)
    whole = await play(team, "second")
    assert not ids(broken) & ids(whole)
    assert any("The whole answer." in each.to_text() for each in whole[:-1])
    half, asked = text(broken), world.said(1)
    assert "first" in asked
    assert "second" in asked
    if half:
        assert asked.count("broke off") == asked.count(half.strip()) == 1
    else:
        assert "broke off" not in asked


@pytest.mark.parametrize("kind", TEAMS)
async def test_a_retry_finishes_the_message_that_broke_off(kind: str, world: World):
    team = TEAMS[kind](world)
    world.server.script(FAULTS[1])
    broken = await break_off(team, "first")
    world.server.script(*[ANSWER] * 3)
    whole = await play(team, None)
    assert ids(broken) <= ids(whole)
    assert "broke off" not in world.said(1)


@pytest.mark.parametrize("kind", ["agent", "team"])
async def test_a_tool_that_is_an_agent_or_a_team_begins_anew_in_its_next_call(
    kind: str, world: World
):
    inner = world.assistant("inner", description="Answers.")
    crew = RoundRobinGroupChat([inner], name="inner", max_turns=1)
    of_team = TeamTool(crew, name="inner", description="Answers.")
    tool = AgentTool(inner) if kind == "agent" else of_team
    team = alone(world.assistant("ada", tools=[tool], max_tool_iterations=3))
    asks = Reply(calls=[Call(name="inner", arguments={"task": "first"})])
    world.server.script(asks, FAULTS[1], asks, ANSWER, ANSWER)
    items = await play(team, "go")
    said = [each for each in items if getattr(each, "source", "") == "inner"]
    broken = {each.full_message_id for each in said if hasattr(each, "full_message_id")}
    assert len(broken) == 2
    assert world.said(3).count("broke off") == 1


async def test_an_agent_that_runs_alone_begins_anew_with_a_task(world: World):
    agent = world.assistant()
    world.server.script(FAULTS[1], ANSWER, FAULTS[1], ANSWER)
    stream = agent.run_stream(task="first", output_task_messages=False)
    broken: list[Any] = []
    with suppress(ModelError):
        while True:
            broken.append(await anext(stream))
    whole = [each async for each in agent.run_stream(task="second")]
    assert not ids(broken) & ids(whole)
    assert world.said(1).count("broke off") == 1


async def test_a_speaker_of_magentic_one_begins_anew(world: World):
    team = MagenticOneGroupChat([world.assistant()], world.client(), max_turns=9)
    told = Reply(text="Facts."), Reply(text="Plan."), ledger("ada", "Answer.")
    world.server.script(*told, FAULTS[1])
    broken = await break_off(team, "first")
    world.server.script(ANSWER, ledger("ada", done=True), ANSWER)
    whole = await play(team, "second")
    assert HALF.startswith(text(broken).strip())
    assert not ids(broken) & ids(whole)
    assert world.said(4).count("broke off") == 1


async def test_an_agent_of_azure_has_ids_of_its_own_after_a_run_that_failed():
    failed = {"status": "failed", "last_error": {"code": "server_error", "message": "Broke."}}
    service = FakeAzureAgents(failed, {"text": "The whole answer."})
    async with service, project(service) as client:
        team = alone(AzureAIAgent("ada", "Answers.", client, "gpt-4o", "Be kind."))
        broken = await break_off(team, "first")
        whole = await play(team, "second")
    assert not ids(broken) & ids(whole)
    assert "The whole answer." in whole[-2].to_text()
