"""A message id belongs to one task, and to its retries."""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager, suppress
from math import inf
from typing import Any, get_args, get_type_hints

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
from teams.models import ModelError, _wire
from teams.models._endpoint import ModelEndpoint
from teams.models._exchange import Deadline
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
FAULTS: list[Fault | Fail] = [
    *(Fault(kind=kind, after=3, text=HALF) for kind in get_args(get_type_hints(Fault)["kind"])),
    LIMITED,
]
CUT = Fault(kind="cut", after=3, text=HALF)
ANSWER = Reply(text="The whole answer.")


class World:
    """A server, and the clients of it."""

    def __init__(self, server: FakeOpenAI) -> None:
        self.server = server
        self._made: list[OpenAIChatCompletionClient | AsyncOpenAI] = []
        self._before = 0
        self.patience: float | None = None
        """Seconds of silence that clients made now bear, where it is not the usual time."""
        self.words = 0

    @property
    def openai(self) -> AsyncOpenAI:
        """A new client of the SDK."""
        made = AsyncOpenAI(**self._settings())
        self._made.append(made)
        return made

    def _settings(self) -> dict[str, Any]:
        settings = {"api_key": "sk-of-a-test", "base_url": self.server.url, "max_retries": 0}
        return settings | ({"timeout": self.patience} if self.patience else {})

    @contextmanager
    def answers(self, *answers: Fault | Fail | Reply) -> Generator[bool]:
        """Answer the next requests; True if clients made meanwhile lack patience."""
        self.server.script_anew(*answers)
        self._before = len(self.server.requests)
        endless = [e for e in answers if isinstance(e, Fault) and e.kind in ("hang", "ping")]
        self.patience = 0.2 if endless else None
        self.words = max((e.after for e in endless), default=0)
        yield bool(endless)
        self.patience = None

    def client(self) -> OpenAIChatCompletionClient:
        made = OpenAIChatCompletionClient(model="gpt-4o", **self._settings())
        self._made.append(made)
        return made

    async def close(self) -> None:
        for each in self._made:
            await each.close()

    def assistant(self, name: str = "ada", **more: Any) -> AssistantAgent:
        return AssistantAgent(name, self.client(), model_client_stream=True, **more)

    def conversable(self, name: str = "ada") -> ConversableAgent:
        config = {"model": "gpt-4o", **self._settings()}
        return ConversableAgent(
            name,
            llm_config={"config_list": [config], "stream": True, "cache_seed": None},
            human_input_mode="NEVER",
            max_consecutive_auto_reply=9,
        )

    def told(self, request: int = 0) -> str:
        """All that a request since the last `answers` told the model."""
        return str(self.server.requests[self._before + request].messages)


@pytest.fixture
async def world(openai_server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    made = World(openai_server)

    class OwnDeadline(Deadline):
        """Ends soon after the last word that comes, however long that took."""

        def __init__(self, endpoint: ModelEndpoint, seconds: float) -> None:
            super().__init__(endpoint, 0.5 if made.patience else seconds)
            self._left = made.words if made.patience else inf

        def resume(self, since: float) -> None:
            super().resume(since)
            self._left -= 1
            if not self._left:
                self._ends = self._now() + 0.02

    monkeypatch.setattr(_wire, "Deadline", OwnDeadline)
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
        OpenAIAgent("ada", "Answers.", world.openai, "gpt-4o", "Be kind.", model_client_stream=True)
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


async def break_off(team: Any, task: str | None) -> list[Any]:
    items: list[Any] = []
    stream = team.run_stream(task=task, output_task_messages=False)
    with suppress(TeamError, ModelError):
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


async def in_another_process(team: Any, fresh: Any) -> Any:
    await fresh.load_state(await team.save_state())
    return fresh


@contextmanager
def about(fault: object) -> Generator[None]:
    """Say of an error with which fault it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"after {fault}")
        raise


@pytest.mark.parametrize("kind", TEAMS)
async def test_the_next_task_has_ids_of_its_own_and_is_told_what_broke_off(
    kind: str, world: World
) -> None:
    for number, fault in enumerate(FAULTS):
        with about(fault):
            with world.answers(fault) as endless:
                team = TEAMS[kind](world)
                broken = await break_off(team, "first")
            if endless or number % 2:
                team = await in_another_process(team, TEAMS[kind](world))
            with world.answers(*[ANSWER] * 3):
                whole = await play(team, "second")
            assert not ids(broken) & ids(whole)
            assert any("The whole answer." in each.to_text() for each in whole[:-1])
            half, asked = text(broken), world.told()
            assert "first" in asked
            assert "second" in asked
            if half:
                assert asked.count("broke off") == asked.count(half.strip()) == 1
            else:
                assert "broke off" not in asked


@pytest.mark.parametrize("kind", TEAMS)
async def test_a_retry_finishes_the_message_that_broke_off(kind: str, world: World) -> None:
    for fault in FAULTS:
        with about(fault):
            with world.answers(fault) as endless:
                team = TEAMS[kind](world)
                broken = await break_off(team, "first")
            if endless:
                team = await in_another_process(team, TEAMS[kind](world))
            with world.answers(*[ANSWER] * 3):
                whole = await play(team, None)
            assert ids(broken) <= ids(whole)
            assert "broke off" not in world.told()


def tooled(kind: str, world: World) -> Team:
    """A team whose agent has another agent or a team as tool."""
    inner = world.assistant("inner", description="Answers.")
    crew = RoundRobinGroupChat([inner], name="inner", max_turns=1)
    tools = {
        "agent": lambda: AgentTool(inner),
        "team": lambda: TeamTool(crew, name="inner", description="Answers."),
    }
    return alone(world.assistant("ada", tools=[tools[kind]()], max_tool_iterations=3))


def inner_ids(items: list[Any]) -> set[str]:
    said = [each for each in items if getattr(each, "source", "") == "inner"]
    return {each.full_message_id for each in said if hasattr(each, "full_message_id")}


ASKS = Reply(calls=[Call(name="inner", arguments={"task": "first"})])


@pytest.mark.parametrize("kind", ["agent", "team"])
async def test_a_tool_that_is_an_agent_or_a_team_begins_anew_in_its_next_call(
    kind: str, world: World
) -> None:
    for fault in FAULTS:
        half = isinstance(fault, Fault)
        with about(fault):
            with world.answers(ASKS, fault, ASKS, ANSWER, ANSWER):
                items = await play(tooled(kind, world), "go")
            assert len(inner_ids(items)) == 1 + half
            assert world.told(3).count("broke off") == half
            with world.answers(ASKS, fault, LIMITED):
                team = tooled(kind, world)
                broken = await break_off(team, "go")
            team = await in_another_process(team, tooled(kind, world))
            with world.answers(ASKS, ANSWER, ANSWER):
                whole = await play(team, "again")
            assert inner_ids(whole)
            assert not inner_ids(broken) & inner_ids(whole)
            assert world.told(1).count("broke off") == half


async def test_an_agent_that_runs_alone_begins_anew_with_a_task(world: World) -> None:
    for fault in FAULTS:
        with about(fault):
            with world.answers(fault) as endless:
                agent = world.assistant()
                broken = await break_off(agent, "first")
            if endless:
                agent = await in_another_process(agent, world.assistant())
            with world.answers(ANSWER):
                whole = [each async for each in agent.run_stream(task="second")]
            assert not ids(broken) & ids(whole)
            assert world.told().count("broke off") == bool(text(broken))


def magentic(world: World) -> Team:
    return MagenticOneGroupChat([world.assistant()], world.client(), max_turns=9)


async def test_a_speaker_of_magentic_one_begins_anew(world: World) -> None:
    told = Reply(text="Facts."), Reply(text="Plan."), ledger("ada", "Answer.")
    for fault in FAULTS:
        with about(fault):
            with world.answers(*told, fault) as endless:
                team = magentic(world)
                broken = await break_off(team, "first")
            if endless:
                team = await in_another_process(team, magentic(world))
            with world.answers(ANSWER, ledger("ada", done=True), ANSWER):
                whole = await play(team, "second")
            assert HALF.startswith(text(broken).strip())
            assert not ids(broken) & ids(whole)
            assert world.told().count("broke off") == bool(text(broken))


async def test_an_agent_of_azure_has_ids_of_its_own_after_a_run_that_failed():
    failed = {"status": "failed", "last_error": {"code": "server_error", "message": "Broke."}}
    service = FakeAzureAgents(failed, {"text": "The whole answer."})
    async with service, project(service) as client:
        team = alone(AzureAIAgent("ada", "Answers.", client, "gpt-4o", "Be kind."))
        broken = await break_off(team, "first")
        whole = await play(team, "second")
    assert not ids(broken) & ids(whole)
    assert "The whole answer." in whole[-2].to_text()
