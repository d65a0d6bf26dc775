"""Data of AutoGen 0.7.5 loads here: components, and states that continue.

The files are the output of `benchmarks/autogen/write_data.py`. Each state is loaded twice: with the
replayed models of the file, and with the real client on the scripted server, which refuses a
history that OpenAI would refuse. Both runs must take the same turns.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import TerminationCondition, run_hooks
from teams.core import CancellationToken, ComponentLoader, ComponentModel
from teams.memory import ListMemory
from teams.messages import BaseChatMessage, HandoffMessage, TextMessage
from teams.model_context import ChatCompletionContext
from teams.models import ChatCompletionClient
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import AgentTool, FunctionTool, TeamTool
from tests.fakes.openai_script import Call, Reply, Request, Script
from tests.fakes.openai_server import FakeOpenAI
from tests.guide.harness import Trace, said, watch

DATA = Path(__file__).parents[1] / "data" / "autogen-0.7.5"
OVERRIDES = {"add": f"{__name__}:add"}
REPLAY = "autogen_ext.models.replay.ReplayChatCompletionClient"


async def add(a: int, b: int) -> int:
    """Stands in for the tool whose source code is in the files."""
    return a + b


class OnTheWire(OpenAIChatCompletionClient):
    """The real client in place of a file's replayed ones.

    It remembers the clients to close.
    """

    made: ClassVar[list[OnTheWire]] = []

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.made.append(self)


@pytest.fixture
async def server(
    openai_server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FakeOpenAI]:
    """The scripted server, and configs that may name `OnTheWire`."""
    monkeypatch.setenv("PARLEY_TRUSTED_PROVIDERS", __name__)
    yield openai_server
    while OnTheWire.made:
        await OnTheWire.made.pop().close()


def case(name: str) -> dict[str, Any]:
    return json.loads((DATA / f"{name}.json").read_text())


def on_the_wire(data: Any, url: str) -> Any:
    """A component with the real client wherever it had a replayed one."""
    if isinstance(data, list):
        return [on_the_wire(entry, url) for entry in data]
    if not isinstance(data, dict):
        return data
    if data.get("provider") == REPLAY:
        config = {"model": "gpt-4o", "api_key": "sk-data", "base_url": url}
        return {"provider": f"{__name__}.OnTheWire", "config": config}
    return {key: on_the_wire(value, url) for key, value in data.items()}


def load(component: dict[str, Any]) -> Any:
    return ComponentLoader.load_component(component, object, tool_overrides=OVERRIDES)


# Teams


def calls(name: str, key: str, **arguments: Any) -> Reply:
    return Reply(calls=[Call(name=name, arguments=arguments, id=key)])


def texts(*answers: str) -> list[Script]:
    return [Reply(text=answer) for answer in answers]


def if_it_said(earlier: str, answer: str) -> Script:
    """An answer for the agent that has said `earlier`, whenever it asks."""

    def matching(request: Request) -> Reply | None:
        return Reply(text=answer) if f"assistant: {earlier}" in said(request) else None

    return matching


def spoken(*names: str) -> Trace:
    return [("TextMessage", name) for name in names]


@dataclass(frozen=True, kw_only=True)
class Going:
    """The run of a team that continues from a file's state."""

    file: str
    component: str | None = None
    """The file with the component, if it is another one."""

    task: str | BaseChatMessage | None
    answers: Sequence[Script] = ()
    """The models' answers, the same as in the file's replayed ones."""

    rules: Sequence[Script] = ()
    trace: Trace
    first_request: Sequence[str]
    """The first model's first request.

    It holds the restored history and what the model had missed; "..." at the end stands for a
    prompt of ours.
    """

    stop_reason: str
    side_by_side: bool = False
    """True if several speak at once, in no fixed order."""

    tools: Sequence[str] = field(default=())


ADDING = (calls("add", "c1", a=1, b=2), Reply(text="Three."))
WRITER_ADDS = [
    ("ToolCallRequestEvent", "writer"),
    ("ToolCallExecutionEvent", "writer"),
    ("TextMessage", "writer"),
]
WRITER_KNOWS = [
    "system: You write.",
    "user[user]: Add.",
    'assistant calls add({"a": 1, "b": 2})',
    "tool: 3",
    "assistant: Three.",
]
DESK_HANDS_OFF = [
    ("ToolCallRequestEvent", "desk"),
    ("ToolCallExecutionEvent", "desk"),
    ("HandoffMessage", "desk", "expert"),
]
EXPERT_ADDS_AND_ASKS = [
    ("ToolCallRequestEvent", "expert"),
    ("ToolCallExecutionEvent", "expert"),
    ("ToolCallRequestEvent", "expert"),
    ("ToolCallExecutionEvent", "expert"),
    ("HandoffMessage", "expert", "user"),
]
TO_EXPERT = "Transferred to expert, adopting the role of expert immediately."
TO_USER = "Transferred to user, adopting the role of user immediately."
EXPERT_KNOWS = [
    "system: You help.",
    "user[user]: I need three.",
    f"user[desk]: {TO_EXPERT}",
    'assistant calls add({"a": 1, "b": 2})',
    "tool: 3",
    "assistant calls transfer_to_user({})",
    f"tool: {TO_USER}",
]
USER = ("TextMessage", "user")
APPROVED = "Text 'APPROVE' mentioned"
ASKED = "Handoff to user from expert detected."
THREE_MESSAGES = "Maximum number of messages 3 reached, current message count: 3"
COMPLETE = "Digraph execution is complete"
PLANNER_KNOWS = ["system: You help.", "user[user]: Build it.", "assistant: The plan."]
AUTHOR_KNOWS = ["system: You help.", "user[user]: Write.", "assistant: Draft one."]


def ledger(*, done: bool) -> str:
    answers = {
        "is_request_satisfied": done,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": "helper",
        "instruction_or_question": "Find it.",
    }
    return json.dumps({key: {"reason": "because", "answer": it} for key, it in answers.items()})


ORCHESTRATOR = "MagenticOneOrchestrator"
ORCHESTRATOR_KNOWS = [
    "assistant: (a prompt of the original)",
    "assistant: Find it.",
    "user[helper]: I found it: 42.",
    "assistant: The answer is 42.",
]
FINDING = texts(
    "The facts.",
    "The plan.",
    ledger(done=False),
    "I found it: 42.",
    ledger(done=True),
    "The answer is 42.",
)

GOING = [
    Going(
        file="round-robin-new",
        task="Add.",
        answers=[*ADDING, *texts("Shorter.", "Two.", "APPROVE")],
        trace=[USER, *WRITER_ADDS, *spoken("critic", "writer", "critic")],
        first_request=["system: You write.", "user[user]: Add."],
        stop_reason=APPROVED,
        tools=["add"],
    ),
    Going(
        file="round-robin-rest",
        task="Again.",
        answers=[*ADDING, *texts("Shorter.", "Two.", "APPROVE")],
        trace=[USER, *WRITER_ADDS, *spoken("critic", "writer", "critic")],
        first_request=[
            *WRITER_KNOWS,
            "user[critic]: Shorter.",
            "assistant: Two.",
            "user[critic]: APPROVE",
            "user[user]: Again.",
        ],
        stop_reason=APPROVED,
        tools=["add"],
    ),
    Going(
        file="round-robin-middle",
        task=None,
        answers=[Reply(text="Shorter."), *ADDING, Reply(text="APPROVE")],
        trace=[("TextMessage", "critic"), *WRITER_ADDS, ("TextMessage", "critic")],
        first_request=["system: You review.", "user[user]: Add.", "user[writer]: Three."],
        stop_reason=APPROVED,
    ),
    Going(
        file="swarm-new",
        task="I need three.",
        answers=[
            calls("transfer_to_expert", "c1"),
            calls("add", "c2", a=1, b=2),
            calls("transfer_to_user", "c3"),
        ],
        trace=[USER, *DESK_HANDS_OFF, *EXPERT_ADDS_AND_ASKS],
        first_request=["system: You help.", "user[user]: I need three."],
        stop_reason=ASKED,
        tools=["transfer_to_expert", "transfer_to_user"],
    ),
    Going(
        file="swarm-rest",
        task=HandoffMessage(source="user", target="expert", content="Here."),
        answers=[calls("add", "c2", a=1, b=2), calls("transfer_to_user", "c3")],
        trace=[("HandoffMessage", "user", "expert"), *EXPERT_ADDS_AND_ASKS],
        first_request=[*EXPERT_KNOWS, "user[user]: Here."],
        stop_reason=ASKED,
        tools=["add", "transfer_to_desk", "transfer_to_user"],
    ),
    Going(
        file="swarm-answered",
        component="swarm-new",
        task="Once more.",
        answers=[calls("add", "c2", a=1, b=2), calls("transfer_to_user", "c3")],
        trace=[USER, *EXPERT_ADDS_AND_ASKS],
        first_request=[
            *EXPERT_KNOWS,
            "user[user]: Here.",
            "assistant: Thanks, done.",
            "user[user]: Once more.",
        ],
        stop_reason=ASKED,
        tools=["add", "transfer_to_desk", "transfer_to_user"],
    ),
    Going(
        file="swarm-middle",
        task=None,
        answers=[calls("add", "c2", a=1, b=2), calls("transfer_to_user", "c3")],
        trace=EXPERT_ADDS_AND_ASKS,
        first_request=EXPERT_KNOWS[:3],
        stop_reason=ASKED,
        tools=["add", "transfer_to_desk", "transfer_to_user"],
    ),
    Going(
        file="selector-new",
        task="Build it.",
        answers=texts("planner", "The plan.", "The code."),
        trace=spoken("user", "planner", "coder"),
        first_request=[
            "system: Roles: planner: Plans.\ncoder: Codes.\nSo far: user: Build it.\n"
            'Who of ["planner", "coder"] is next?'
        ],
        stop_reason=THREE_MESSAGES,
    ),
    Going(
        file="selector-rest",
        task="More.",
        answers=texts("The plan.", "The code."),
        trace=spoken("user", "planner", "coder"),
        first_request=[
            *PLANNER_KNOWS,
            "user[coder]: The code.",
            "user[user]: More.",
        ],
        stop_reason=THREE_MESSAGES,
    ),
    Going(
        # The coder was chosen and had not spoken: it is the one who may be chosen.
        file="selector-middle",
        task=None,
        answers=texts("The code.", "The plan.", "More code."),
        trace=spoken("coder", "planner", "coder"),
        first_request=[*PLANNER_KNOWS[:2], "user[planner]: The plan."],
        stop_reason=THREE_MESSAGES,
    ),
    Going(
        file="graph-new",
        task="Write.",
        answers=texts("Draft one.", "REVISE please.", "Edited."),
        trace=spoken("user", "author", "reviewer", "editor"),
        first_request=["system: You help.", "user[user]: Write."],
        stop_reason=COMPLETE,
        side_by_side=True,
    ),
    Going(
        file="graph-rest",
        task="Again.",
        answers=texts("Draft one."),
        rules=[
            if_it_said("REVISE please.", "REVISE please."),
            if_it_said("Edited.", "Edited."),
        ],
        trace=spoken("user", "author", "reviewer", "editor"),
        first_request=[
            *AUTHOR_KNOWS,
            "user[reviewer]: REVISE please.",
            "user[editor]: Edited.",
            "user[user]: Again.",
        ],
        stop_reason=COMPLETE,
        side_by_side=True,
    ),
    Going(
        file="graph-loop-new",
        task="Write.",
        answers=texts("Draft one.", "REVISE please.", "Draft two.", "APPROVE it.", "Edited."),
        trace=spoken("user", "author", "reviewer", "author", "reviewer", "editor"),
        first_request=["system: You help.", "user[user]: Write."],
        stop_reason=COMPLETE,
    ),
    Going(
        file="graph-loop-rest",
        task="Again.",
        answers=texts("Draft one.", "REVISE please.", "Draft two.", "APPROVE it.", "Edited."),
        trace=spoken("user", "author", "reviewer", "author", "reviewer", "editor"),
        first_request=[
            *AUTHOR_KNOWS,
            "user[reviewer]: REVISE please.",
            "assistant: Draft two.",
            "user[reviewer]: APPROVE it.",
            "user[editor]: Edited.",
            "user[user]: Again.",
        ],
        stop_reason=COMPLETE,
    ),
    Going(
        file="graph-loop-middle",
        task=None,
        answers=texts("Draft one.", "REVISE please.", "Draft two.", "APPROVE it.", "Edited."),
        trace=spoken("author", "reviewer", "author", "reviewer", "editor"),
        first_request=[*AUTHOR_KNOWS, "user[reviewer]: REVISE please."],
        stop_reason=COMPLETE,
    ),
    Going(
        file="magentic-one-new",
        task="What is it?",
        answers=FINDING,
        trace=spoken("user", ORCHESTRATOR, ORCHESTRATOR, "helper", ORCHESTRATOR),
        first_request=["user[user]: What is it?", "..."],
        stop_reason="because",
    ),
    Going(
        file="magentic-one-rest",
        task="And now?",
        answers=FINDING,
        trace=spoken("user", ORCHESTRATOR, ORCHESTRATOR, "helper", ORCHESTRATOR),
        first_request=[*ORCHESTRATOR_KNOWS, "user[user]: And now?", "..."],
        stop_reason="because",
    ),
    Going(
        file="magentic-one-middle",
        task=None,
        answers=FINDING[2:],
        trace=spoken(ORCHESTRATOR, "helper", ORCHESTRATOR),
        first_request=[*ORCHESTRATOR_KNOWS, "..."],
        stop_reason="because",
    ),
    Going(
        file="nested-new",
        task="Talk.",
        answers=texts("One.", "Two.", "Good."),
        trace=spoken("user", "inner_a", "inner_b", "judge"),
        first_request=["system: You help.", "user[user]: Talk."],
        stop_reason="Maximum number of turns 2 reached.",
    ),
    Going(
        file="nested-rest",
        task="Go on.",
        answers=texts("One.", "Two.", "Good."),
        trace=spoken("user", "inner_a", "inner_b", "judge"),
        first_request=[
            "system: You help.",
            "user[user]: Talk.",
            "assistant: One.",
            "user[inner_b]: Two.",
            "user[judge]: Good.",
            "user[user]: Go on.",
        ],
        stop_reason="Maximum number of turns 2 reached.",
    ),
]


@pytest.mark.parametrize("going", GOING, ids=[going.file for going in GOING])
async def test_a_team_goes_on_where_autogen_left_it(going: Going, server: FakeOpenAI):
    state = case(going.file)["state"]
    component = case(going.component or going.file)["component"]

    replayed = load(component)
    await replayed.load_state(state)
    run = await watch(replayed.run_stream(task=going.task))
    assert in_order(run.trace, going) == in_order(going.trace, going)
    assert run.stop_reason == going.stop_reason

    team = load(on_the_wire(component, server.url))
    await team.load_state(state)
    server.script(*going.answers)
    server.rule(*going.rules)
    again = await watch(team.run_stream(task=going.task))
    assert in_order(again.trace, going) == in_order(run.trace, going)
    assert sorted(again.texts) == sorted(run.texts)
    assert again.stop_reason == run.stop_reason
    assert [request.refused for request in server.requests if request.refused] == []
    first = server.requests[0]
    assert without_prompt(said(first), going.first_request) == list(going.first_request)
    assert first.tools == list(going.tools)


def without_prompt(lines: list[str], expected: Sequence[str]) -> list[str]:
    return [*lines[:-1], "..."] if expected[-1] == "..." else lines


def in_order(trace: Trace, going: Going) -> Trace:
    return sorted(trace) if going.side_by_side else trace


@pytest.mark.parametrize("going", GOING, ids=[going.file for going in GOING])
async def test_a_loaded_state_is_saved_as_it_was(going: Going):
    state = case(going.file)["state"]
    team = load(case(going.component or going.file)["component"])
    await team.load_state(state)
    # An unfinished run of AutoGen's can't be gone on with: the next run counts its turns anew.
    state["agent_states"][team.manager_name].pop("current_turn")
    assert holds(json.loads(json.dumps(await team.save_state())), state)


def holds(larger: Any, smaller: Any) -> bool:
    """True if `larger` holds everything in `smaller`.

    `larger` may have keys of its own.
    """
    if isinstance(smaller, dict):
        return isinstance(larger, dict) and all(
            key in larger and holds(larger[key], value) for key, value in smaller.items()
        )
    if isinstance(smaller, list):
        return len(larger) == len(smaller) and all(map(holds, larger, smaller))
    return larger == smaller


async def test_a_cancelled_tool_call_gets_a_result_before_the_model_is_asked_again(
    server: FakeOpenAI,
):
    model = OnTheWire(model="gpt-4o", api_key="sk-data", base_url=server.url)
    worker = AssistantAgent("worker", model, tools=[add], system_message="You help.")
    team = RoundRobinGroupChat([worker], max_turns=1)
    await team.load_state(case("round-robin-cancelled")["state"])
    server.script(Reply(text="After."))

    run = await watch(team.run_stream(task="Never mind."))

    assert run.trace == [USER, ("TextMessage", "worker")]
    [request] = server.requests
    assert request.refused is None
    assert request.roles == ["system", "user", "assistant", "tool", "tool", "user", "user"]
    assert [message["tool_call_id"] for message in request.messages[3:5]] == ["c1", "c2"]
    assert said(request)[-2:] == ["user[user]: Do it.", "user[user]: Never mind."]


# Agents

AGENTS = ("assistant", "code-executor", "message-filter", "society-of-mind", "user-proxy")


async def test_an_assistant_goes_on_with_its_memory_and_context(server: FakeOpenAI):
    data = case("agent-assistant")
    agent = load(on_the_wire(data["component"], server.url))
    await agent.load_state(data["state"])
    server.script(Reply(text="Hello."))

    run = await watch(agent.run_stream(task="Again."))

    assert run.trace == [USER, ("MemoryQueryEvent", "helper"), ("TextMessage", "helper")]
    remembered = "system: \nRelevant memory content (in chronological order):\n1. Likes tea.\n"
    assert said(server.requests[0]) == [
        "system: You help.",
        "user[user]: Hi.",
        remembered,
        "assistant: Hello.",
        "user[user]: Again.",
        remembered,
    ]


async def test_a_society_works_inside_and_sums_up(server: FakeOpenAI):
    data = case("agent-society-of-mind")
    agent = load(on_the_wire(data["component"], server.url))
    await agent.load_state(data["state"])
    server.script(*texts("Inside.", "Summed up."))

    run = await watch(agent.run_stream(task="Again."))

    assert run.trace == spoken("user", "inner", "society")
    assert [said(request) for request in server.requests] == [
        ["system: You help.", "user[user]: Again."],
        ["system: Read.", "user[inner]: Inside.", "system: Sum up."],
    ]


async def test_a_filter_shows_the_agent_inside_what_it_lets_through(server: FakeOpenAI):
    data = case("agent-message-filter")
    agent = load(on_the_wire(data["component"], server.url))
    await agent.load_state(data["state"])
    server.script(*texts("Seen."))
    task: list[BaseChatMessage] = [
        TextMessage(content=text, source=source)
        for text, source in (("Old.", "user"), ("New.", "user"), ("Hush.", "other"))
    ]

    run = await watch(agent.run_stream(task=task))

    assert run.answer == "Seen."
    assert said(server.requests[0]) == ["system: You help.", "user[user]: New."]


async def test_a_code_executor_runs_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # the file's working folder is relative
    data = case("agent-code-executor")
    agent = load(data["component"])
    await agent.load_state(data["state"])

    run = await watch(agent.run_stream(task="```python\nprint(6 * 7)\n```"))

    assert run.trace == spoken("user", "coder")
    assert run.answer.strip() == "42"
    await agent.close()


async def test_a_user_proxy_asks(server: FakeOpenAI):
    data = case("agent-user-proxy")
    agent = load(data["component"])
    await agent.load_state(data["state"])

    async def ask(prompt: str, token: CancellationToken | None) -> str:
        return "Yes."

    with run_hooks(ask=ask):
        run = await watch(agent.run_stream(task="Well?"))

    assert run.trace == [USER, ("UserInputRequestedEvent", "human"), ("TextMessage", "human")]
    assert run.answer == "Yes."


# Components


WRITTEN = sorted(path.stem for path in DATA.glob("*.json") if "component" in case(path.stem))


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_loaded_dumps_its_settings_and_loads_and_dumps_the_same_again(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    written = case(name)["component"]
    dumped = load(written).dump_component().model_dump_json()
    assert holds(settings(json.loads(dumped)), settings(written))
    assert load(json.loads(dumped)).dump_component().model_dump_json() == dumped


# Conditions and parts


def names(pattern: str) -> list[str]:
    return sorted(path.stem for path in DATA.glob(f"{pattern}-*.json"))


@pytest.mark.parametrize("name", names("condition"))
def test_a_condition_loads_and_keeps_its_settings(name: str):
    written = case(name)["component"]
    condition = load(written)
    assert isinstance(condition, TerminationCondition)
    dumped = json.loads(condition.dump_component().model_dump_json())
    assert holds(settings(dumped), settings(written))
    assert load(dumped).dump_component() == condition.dump_component()


NO_SETTINGS = (
    "provider",
    "component_type",
    "description",
    "label",
    "version",
    "source_code",  # another function stands in for it
)


def settings(component: Any) -> Any:
    """The configs, at any depth, without what is None or empty."""
    if isinstance(component, list):
        return [settings(entry) for entry in component]
    if isinstance(component, dict):
        return {
            key: settings(value)
            for key, value in component.items()
            if value not in (None, {}, []) and key not in NO_SETTINGS
        }
    return component


PARTS: dict[str, type] = {
    "part-context-buffered": ChatCompletionContext,
    "part-context-head-and-tail": ChatCompletionContext,
    "part-context-unbounded": ChatCompletionContext,
    "part-memory-list": ListMemory,
    "part-model-openai": OpenAIChatCompletionClient,
    "part-model-openai-compatible": OpenAIChatCompletionClient,
    "part-model-replay": ReplayChatCompletionClient,
    "part-tool-agent": AgentTool,
    "part-tool-function": FunctionTool,
    "part-tool-team": TeamTool,
}


@pytest.mark.parametrize(("name", "kind"), PARTS.items(), ids=PARTS)
def test_a_part_loads_and_keeps_its_settings(
    name: str, kind: type, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    written = case(name)["component"]
    part = load(written)
    assert isinstance(part, kind)
    dumped: ComponentModel = part.dump_component()
    assert holds(settings(json.loads(dumped.model_dump_json())), settings(written))


async def test_a_function_tool_runs_what_stands_in_for_its_source_code():
    tool: FunctionTool = load(case("part-tool-function")["component"])
    assert await tool.run_json({"a": 1, "b": 2}, CancellationToken()) == 3
    with pytest.raises(ValueError, match="tool_overrides"):
        ComponentLoader.load_component(case("part-tool-function")["component"], object)


@pytest.mark.parametrize(
    ("name", "answer"),
    [("part-tool-agent", "worker: Worked."), ("part-tool-team", "member: Said.")],
)
async def test_an_agent_or_a_team_as_a_tool_does_its_task(name: str, answer: str):
    tool: AgentTool | TeamTool = load(case(name)["component"])
    result = await tool.run_json({"task": "Do it."}, CancellationToken())
    assert tool.return_value_as_string(result) == answer


async def test_a_replayed_model_answers_what_the_file_says():
    model: ChatCompletionClient = load(case("part-model-replay")["component"])
    assert (await model.create([])).content == "One."


def test_no_file_is_left_out():
    gone_on = {going.file for going in GOING} | {"round-robin-cancelled"}
    agents = {f"agent-{kind}" for kind in AGENTS}
    conditions = set(names("condition"))
    assert gone_on | agents | conditions | set(PARTS) == {path.stem for path in DATA.glob("*.json")}
