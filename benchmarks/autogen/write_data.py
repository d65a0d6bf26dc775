"""Write data of AutoGen 0.7.5 for Parley's compatibility tests.

The data are saved states and component JSON.

Run it with the Python of an environment that holds `requirements.txt` of this folder:

    python write_data.py ../../tests/data/autogen-0.7.5

Each file holds one case: `component` (what `dump_component` gave), `state` (what `save_state` gave), and `when` the state
was saved. Models are AutoGen's replay client, so nothing leaves the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import (
    AssistantAgent as AutoGenAssistant,
)
from autogen_agentchat.agents import (
    CodeExecutorAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    SocietyOfMindAgent,
    UserProxyAgent,
)
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import (
    ExternalTermination,
    FunctionCallTermination,
    HandoffTermination,
    MaxMessageTermination,
    SourceMatchTermination,
    StopMessageTermination,
    TextMentionTermination,
    TextMessageTermination,
    TimeoutTermination,
    TokenUsageTermination,
)
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken, FunctionCall
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    HeadAndTailChatCompletionContext,
    UnboundedChatCompletionContext,
)
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_core.tools import FunctionTool
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.models.replay import ReplayChatCompletionClient

INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    family=ModelFamily.UNKNOWN,
    structured_output=True,
)


def AssistantAgent(name: str, client: Any, **options: Any) -> AutoGenAssistant:
    """An assistant with our system message instead of the original's default."""
    return AutoGenAssistant(
        name, client, **{"system_message": "You help.", "description": "Helps.", **options}
    )


def model(*answers: Any) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(list(answers), model_info=INFO)


def calls(*made: tuple[str, str, str]) -> CreateResult:
    return CreateResult(
        finish_reason="function_calls",
        content=[
            FunctionCall(id=key, name=name, arguments=arguments) for key, name, arguments in made
        ],
        usage=RequestUsage(prompt_tokens=7, completion_tokens=3),
        cached=False,
    )


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Cases:
    """Collects the cases and writes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, when: str, *, component: Any = None, state: Any = None) -> None:
        case = {"when": when}
        if component is not None:
            case["component"] = without_prompts(component.model_dump(mode="json"))
        if state is not None:
            case["state"] = without_prompts(json.loads(json.dumps(state)))
        (self.folder / f"{name}.json").write_text(
            json.dumps(case, indent=1, ensure_ascii=False) + "\n"
        )
        print(name)

    async def team(self, name: str, team: Any, *tasks: Any, cut_after: int | None = None) -> None:
        """A team at rest after its tasks, and in another one."""
        component = dumped(team)
        self.write(f"{name}-new", "never run", component=component, state=await team.save_state())
        for task in tasks:
            await team.run(task=task)
        self.write(f"{name}-rest", "at rest", component=component, state=await team.save_state())

    async def middle(self, name: str, team: Any, task: Any, items: int) -> None:
        """A team that is saved while it runs, after so many items."""
        component = dumped(team)
        seen = 0
        stream = team.run_stream(task=task)
        async for _ in stream:
            seen += 1
            if seen == items:
                state = await team.save_state()
        self.write(
            f"{name}-middle",
            f"while running, after {items} items",
            component=component,
            state=state,
        )


def without_prompts(data: Any) -> Any:
    """The data without AutoGen's own texts, which are not ours.

    Left out are docstrings and an orchestrator's prompts.
    """
    if isinstance(data, list):
        return [without_prompts(item) for item in data]
    if not isinstance(data, dict):
        return data
    cleaned = {key: without_prompts(value) for key, value in data.items()}
    if "provider" in cleaned and "config" in cleaned:
        cleaned["description"] = None  # the original's docstring
    content = cleaned.get("content")
    if (
        cleaned.get("source") == "MagenticOneOrchestrator"
        and isinstance(content, str)
        and len(content) > 80
    ):
        cleaned["content"] = "(a prompt of the original)"
    return cleaned


def dumped(component: Any) -> Any:
    try:
        return component.dump_component()
    except (NotImplementedError, TypeError, ValueError) as error:
        print(f"  not dumpable: {type(component).__name__}: {error}", file=sys.stderr)
        return None


def round_robin(*answers: Any) -> RoundRobinGroupChat:
    writer = AssistantAgent(
        "writer",
        model(*answers),
        tools=[FunctionTool(add, description="Add two numbers.")],
        reflect_on_tool_use=True,
        system_message="You write.",
    )
    critic = AssistantAgent(
        "critic", model("Shorter.", "APPROVE", "Fine."), system_message="You review."
    )
    return RoundRobinGroupChat(
        [writer, critic],
        termination_condition=TextMentionTermination("APPROVE") | MaxMessageTermination(12),
    )


def swarm() -> Swarm:
    desk = AssistantAgent(
        "desk",
        model(calls(("c1", "transfer_to_expert", "{}")), "Goodbye."),
        handoffs=["expert", Handoff(target="user", message="Please answer.")],
    )
    expert = AssistantAgent(
        "expert",
        model(
            calls(("c2", "add", '{"a": 1, "b": 2}')),
            calls(("c3", "transfer_to_user", "{}")),
            "Thanks, done.",
        ),
        tools=[FunctionTool(add, description="Add two numbers.")],
        handoffs=["desk", "user"],
        max_tool_iterations=2,
    )
    return Swarm(
        [desk, expert],
        termination_condition=HandoffTermination("user") | TextMessageTermination("expert"),
    )


def selector() -> SelectorGroupChat:
    first = AssistantAgent("planner", model("The plan.", "Another plan."), description="Plans.")
    second = AssistantAgent("coder", model("The code.", "More code."), description="Codes.")
    return SelectorGroupChat(
        [first, second],
        model_client=model("planner", "coder", "planner", "coder"),
        selector_prompt="Roles: {roles}\nSo far: {history}\nWho of {participants} is next?",
        termination_condition=MaxMessageTermination(3),
    )


def graph(*, loop: bool) -> GraphFlow:
    author = AssistantAgent("author", model("Draft one.", "Draft two.", "Draft three."))
    reviewer = AssistantAgent("reviewer", model("REVISE please.", "APPROVE it.", "APPROVE again."))
    editor = AssistantAgent("editor", model("Edited.", "Edited again."))
    builder = DiGraphBuilder()
    builder.add_node(author).add_node(reviewer).add_node(editor)
    builder.add_edge(author, reviewer)
    if loop:
        builder.add_edge(reviewer, editor, condition="APPROVE")
        builder.add_edge(reviewer, author, condition="REVISE")
        builder.set_entry_point(author)
        return GraphFlow(
            builder.get_participants(),
            graph=builder.build(),
            termination_condition=MaxMessageTermination(20),
        )
    builder.add_edge(author, editor)
    return GraphFlow(builder.get_participants(), graph=builder.build())


def magentic(*answers: Any) -> MagenticOneGroupChat:
    helper = AssistantAgent("helper", model("I found it: 42.", "Still 42."), description="Helps.")
    return MagenticOneGroupChat(
        [helper], model_client=model(*answers), max_turns=4, final_answer_prompt="Answer: {task}"
    )


def ledger(*, done: bool, speaker: str = "helper") -> str:
    def entry(answer: Any) -> dict[str, Any]:
        return {"reason": "because", "answer": answer}

    return json.dumps(
        {
            "is_request_satisfied": entry(done),
            "is_in_loop": entry(False),
            "is_progress_being_made": entry(True),
            "next_speaker": entry(speaker),
            "instruction_or_question": entry("Find it."),
        }
    )


async def teams(cases: Cases) -> None:
    await cases.team(
        "round-robin",
        round_robin(calls(("c1", "add", '{"a": 1, "b": 2}')), "Three.", "Two."),
        "Add.",
    )
    await cases.middle(
        "round-robin",
        round_robin(calls(("c1", "add", '{"a": 1, "b": 2}')), "Three.", "Two."),
        "Add.",
        items=4,
    )
    await cases.team("swarm", swarm(), "I need three.")
    after = swarm()
    await after.run(task="I need three.")
    await after.run(task=HandoffMessage(source="user", target="expert", content="Here."))
    cases.write(
        "swarm-answered", "after the user answered a hand-off", state=await after.save_state()
    )
    await cases.middle("swarm", swarm(), "I need three.", items=4)
    await cases.team("selector", selector(), "Build it.")
    await cases.middle("selector", selector(), "Build it.", items=2)
    await cases.team("graph", graph(loop=False), "Write.")
    await cases.team("graph-loop", graph(loop=True), "Write.")
    await cases.middle("graph-loop", graph(loop=True), "Write.", items=3)
    answers = (
        "The facts.",
        "The plan.",
        ledger(done=False),
        ledger(done=True),
        "The answer is 42.",
    )
    await cases.team("magentic-one", magentic(*answers), "What is it?")
    await cases.middle("magentic-one", magentic(*answers), "What is it?", items=3)
    inner = RoundRobinGroupChat(
        [
            AssistantAgent("inner_a", model("One.", "Three.")),
            AssistantAgent("inner_b", model("Two.", "Four.")),
        ],
        name="pair",
        description="A pair.",
        max_turns=2,
    )
    outer = RoundRobinGroupChat(
        [inner, AssistantAgent("judge", model("Good.", "Better."))], max_turns=2
    )
    await cases.team("nested", outer, "Talk.")


async def agents(cases: Cases) -> None:
    assistant = AssistantAgent(
        "helper",
        model("Hello.", "Hello again."),
        memory=[
            ListMemory(
                "facts", [MemoryContent(content="Likes tea.", mime_type=MemoryMimeType.TEXT)]
            )
        ],
        model_context=BufferedChatCompletionContext(buffer_size=5),
        metadata={"team": "blue"},
    )
    await agent_case(cases, "assistant", assistant, "Hi.")
    await agent_case(
        cases, "user-proxy", UserProxyAgent("human", input_func=lambda _prompt: "yes"), "Well?"
    )
    with tempfile.TemporaryDirectory() as folder:
        coder = CodeExecutorAgent("coder", LocalCommandLineCodeExecutor(work_dir=folder))
        await coder.run(task="```python\nprint(6 * 7)\n```")
        state = await coder.save_state()
        component = dumped(
            CodeExecutorAgent(
                "coder",
                LocalCommandLineCodeExecutor(work_dir="work"),
                system_message="You run code.",
            )
        )
        cases.write("agent-code-executor", "after one task", component=component, state=state)
    team = RoundRobinGroupChat(
        [AssistantAgent("inner", model("Inside.", "Inside again."))], max_turns=1
    )
    await agent_case(
        cases,
        "society-of-mind",
        SocietyOfMindAgent(
            "society",
            team,
            model("Summed up.", "Again."),
            instruction="Read.",
            response_prompt="Sum up.",
        ),
        "Go.",
    )
    filtered = MessageFilterAgent(
        "filtered",
        AssistantAgent("filtered", model("Seen.", "Seen again.")),
        MessageFilterConfig(per_source=[PerSourceFilter(source="user", position="last", count=1)]),
    )
    await agent_case(cases, "message-filter", filtered, "Look.")


async def agent_case(cases: Cases, name: str, agent: Any, task: str) -> None:
    await agent.run(task=task)
    cases.write(
        f"agent-{name}", "after one task", component=dumped(agent), state=await agent.save_state()
    )


def conditions(cases: Cases) -> None:
    made: dict[str, Any] = {
        "max-message": MaxMessageTermination(5, include_agent_event=True),
        "text-mention": TextMentionTermination("DONE", sources=["writer"]),
        "stop-message": StopMessageTermination(),
        "token-usage": TokenUsageTermination(max_total_token=100, max_prompt_token=50),
        "handoff": HandoffTermination("user"),
        "timeout": TimeoutTermination(3.5),
        "external": ExternalTermination(),
        "source-match": SourceMatchTermination(["writer"]),
        "text-message": TextMessageTermination("writer"),
        "function-call": FunctionCallTermination("approve"),
        "composed": (MaxMessageTermination(5) & TextMentionTermination("DONE"))
        | TimeoutTermination(1.0),
    }
    for name, condition in made.items():
        cases.write(f"condition-{name}", "never run", component=dumped(condition))


def parts(cases: Cases) -> None:
    tool_agent = AssistantAgent("worker", model("Worked."), description="Works.")
    tool_team = RoundRobinGroupChat([AssistantAgent("member", model("Said."))], max_turns=1)
    openai = OpenAIChatCompletionClient(model="gpt-4o-mini", api_key="not-a-key", temperature=0.2)
    custom = OpenAIChatCompletionClient(
        model="local", base_url="invalid:", api_key="none", model_info=INFO
    )
    made: dict[str, Any] = {
        "tool-agent": AgentTool(agent=tool_agent),
        "tool-team": TeamTool(team=tool_team, name="team", description="A team."),
        "tool-function": FunctionTool(add, description="Add two numbers."),
        "context-unbounded": UnboundedChatCompletionContext(),
        "context-buffered": BufferedChatCompletionContext(buffer_size=3),
        "context-head-and-tail": HeadAndTailChatCompletionContext(head_size=1, tail_size=2),
        "memory-list": ListMemory(
            "facts", [MemoryContent(content="Likes tea.", mime_type=MemoryMimeType.TEXT)]
        ),
        "model-openai": openai,
        "model-openai-compatible": custom,
        "model-replay": model("One.", "Two."),
    }
    for name, part in made.items():
        cases.write(f"part-{name}", "never run", component=dumped(part))


async def cancelled(cases: Cases) -> None:
    """The state after a cancelled tool call.

    AutoGen never returns from it, so this comes last and ends hard.
    """
    started = asyncio.Event()

    async def stuck() -> str:
        """Never comes back."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    agent = AssistantAgent(
        "worker",
        model(calls(("c1", "stuck", "{}"), ("c2", "add", '{"a": 1, "b": 2}')), "After."),
        tools=[stuck, add],
    )
    team = RoundRobinGroupChat([agent], max_turns=1)
    token = CancellationToken()
    run = asyncio.create_task(team.run(task="Do it.", cancellation_token=token))
    await started.wait()
    token.cancel()
    await asyncio.wait([run], timeout=5)
    state = await asyncio.wait_for(team.save_state(), 5)
    cases.write("round-robin-cancelled", "after a cancelled tool call", state=state)


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cases = Cases(folder)
    conditions(cases)
    parts(cases)
    await agents(cases)
    await teams(cases)
    await cancelled(cases)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
