"""Components go to AutoGen 0.7.5 and come back equal.

Parley dumps, AutoGen loads and dumps, Parley loads and dumps. `make autogen` runs this with an
environment of AutoGen's own; elsewhere it is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
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
from teams._components.providers import autogen_provider, known_providers
from teams.agents import (
    AssistantAgent,
    CodeExecutorAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    SocietyOfMindAgent,
    UserProxyAgent,
)
from teams.agents.magentic_one import MagenticOneCoderAgent
from teams.agents.openai import OpenAIAgent
from teams.auth.azure import AzureTokenProvider
from teams.base import Handoff
from teams.cache_store.diskcache import DiskCacheStore
from teams.code_executors.docker import DockerCommandLineCodeExecutor
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conditions import (
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
from teams.core import ComponentLoader, FunctionCall, InMemoryStore
from teams.memory import ListMemory, MemoryContent, MemoryMimeType
from teams.messages import StructuredMessageFactory
from teams.model_context import (
    AutoChatCompletionContext,
    BufferedChatCompletionContext,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.models import CreateResult, ModelInfo, RequestUsage, UserMessage
from teams.models.anthropic import (
    AnthropicBedrockChatCompletionClient,
    AnthropicChatCompletionClient,
    BedrockInfo,
    ThinkingConfig,
)
from teams.models.cache import ChatCompletionCache
from teams.models.ollama import OllamaChatCompletionClient
from teams.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import (
    AgentTool,
    FunctionTool,
    StaticStreamWorkbench,
    StaticWorkbench,
    TeamTool,
    ToolOverride,
)
from teams.tools.code_execution import PythonCodeExecutionTool
from teams.tools.http import HttpTool
from teams.tools.mcp import (
    McpSessionActor,
    McpWorkbench,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)
from tests.autogen.parts import Weather, mcp_adapters

ROOT = Path(__file__).parents[2]
KEYS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY")
INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True
)


async def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def model() -> ReplayChatCompletionClient:
    call = FunctionCall(id="c1", name="add", arguments='{"a": 1}')
    usage = RequestUsage(prompt_tokens=7, completion_tokens=3)
    asked = CreateResult(
        finish_reason="function_calls", content=[call], usage=usage, cached=False, thought="Hm."
    )
    return ReplayChatCompletionClient(["Hello.", asked], model_info=INFO)


def tool() -> FunctionTool:
    return FunctionTool(add, "Add two numbers.", name="sum_up", global_imports=["math"])


def agent(name: str = "writer", **settings: Any) -> AssistantAgent:
    return AssistantAgent(name, model(), **settings)


def graph() -> GraphFlow:
    nodes = [agent(name) for name in ("first", "left", "right", "last")]
    first, left, right, last = nodes
    builder = DiGraphBuilder()
    for node in nodes:
        builder.add_node(node, activation="any" if node is last else "all")
    builder.add_edge(first, left, condition="left").add_edge(first, right, condition="right")
    builder.add_edge(left, last, activation_group="end", activation_condition="any")
    builder.add_edge(right, last, activation_group="end", activation_condition="any")
    return GraphFlow(
        [first, left, right, last],
        builder.set_entry_point(first).build(),
        termination_condition=MaxMessageTermination(9),
        max_turns=6,
    )


def round_robin() -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [agent(), UserProxyAgent("reader", description="Reads.")],
        name="pair",
        description="Two of them.",
        termination_condition=TextMentionTermination("OK")
        | (MaxMessageTermination(12, include_agent_event=True) & TimeoutTermination(60)),
        max_turns=7,
        emit_team_events=True,
    )


CASES: dict[str, Callable[[], Any]] = {
    "round robin": round_robin,
    "selector": lambda: SelectorGroupChat(
        [agent("a"), round_robin()],
        model(),
        selector_prompt="{roles} {participants} {history}",
        allow_repeated_speaker=True,
        max_selector_attempts=5,
        model_client_streaming=True,
        model_context=BufferedChatCompletionContext(3),
    ),
    "swarm": lambda: Swarm(
        [agent("a", handoffs=["b", Handoff(target="user", message="Your turn.")]), agent("b")],
        termination_condition=HandoffTermination("user"),
    ),
    "graph": graph,
    "magentic one": lambda: MagenticOneGroupChat(
        [agent("a")], model(), max_stalls=2, final_answer_prompt="Done: {task}", max_turns=5
    ),
    "assistant": lambda: agent(
        description="Writes.",
        handoffs=["reader", Handoff(target="boss", description="Ask.", name="ask", message="Hi.")],
        model_context=HeadAndTailChatCompletionContext(
            1, 2, initial_messages=[UserMessage(content="Hi", source="user")]
        ),
        memory=[ListMemory("facts", [fact()])],
        system_message=None,
        model_client_stream=True,
        reflect_on_tool_use=True,
        tool_call_summary_format="{tool_name}: {result}",
        max_tool_iterations=4,
        metadata={"team": "a"},
    ),
    "assistant that summarises": lambda: agent(
        model_context=AutoChatCompletionContext(
            model(), initial_messages=[UserMessage(content="Hi", source="user")]
        )
    ),
    "structured assistant": lambda: agent(
        output_content_type=Weather, output_content_type_format="{city}: {degrees}"
    ),
    "programmer": lambda: MagenticOneCoderAgent("Coder", model()),
    "assistant with a workbench": lambda: agent(workbench=[mcp()], system_message="You work."),
    "user proxy": lambda: UserProxyAgent("reader", description="Reads."),
    "code executor agent": lambda: CodeExecutorAgent(
        "coder",
        LocalCommandLineCodeExecutor(timeout=5, work_dir="."),
        model_client=model(),
        system_message="You code.",
        sources=["writer"],
        supported_languages=["python"],
    ),
    "society of mind": lambda: SocietyOfMindAgent(
        "mind",
        round_robin(),
        model(),
        description="Thinks.",
        instruction="Think.",
        response_prompt="Say it.",
        model_context=UnboundedChatCompletionContext(),
    ),
    "message filter": lambda: MessageFilterAgent(
        "filter",
        agent(),
        MessageFilterConfig(per_source=[PerSourceFilter(source="user", position="last", count=2)]),
    ),
    "external": ExternalTermination,
    "function call": lambda: FunctionCallTermination("add"),
    "handoff": lambda: HandoffTermination("user"),
    "max message": lambda: MaxMessageTermination(3, include_agent_event=True),
    "source match": lambda: SourceMatchTermination(["a", "b"]),
    "stop message": StopMessageTermination,
    "text mention": lambda: TextMentionTermination("OK"),
    "text message": lambda: TextMessageTermination("a"),
    "timeout": lambda: TimeoutTermination(1.5),
    "token usage": lambda: TokenUsageTermination(max_total_token=9, max_prompt_token=5),
    "auto": lambda: AutoChatCompletionContext(model(), token_limit=100),
    "buffered": lambda: BufferedChatCompletionContext(3),
    "head and tail": lambda: HeadAndTailChatCompletionContext(1, 2),
    "token limited": lambda: TokenLimitedChatCompletionContext(
        model(), token_limit=100, tool_schema=[tool().schema]
    ),
    "unbounded": UnboundedChatCompletionContext,
    "list memory": lambda: ListMemory("facts", [fact()]),
    "replay": model,
    "cache": lambda: ChatCompletionCache(model(), InMemoryStore()),
    "disk cache": lambda: ChatCompletionCache(model(), disk_store()),
    "openai's responses": lambda: OpenAIAgent(
        *("reader", "Reads.", AsyncOpenAI(api_key="sk-1"), "gpt-4o", "Read."),
        tools=[{"type": "file_search", "vector_store_ids": ["vs_1"]}],
        temperature=0.5,
        max_output_tokens=100,
        store=False,
    ),
    "openai": lambda: OpenAIChatCompletionClient(
        model="gpt-4o", temperature=0.5, max_tokens=9, seed=1, base_url="http://localhost/v1"
    ),
    "openai with a key and unknown model": lambda: OpenAIChatCompletionClient(
        model="own",
        api_key="sk-secret",
        model_info=INFO,
        stop=["x"],
        reasoning_effort="low",
        include_name_in_message=False,
        add_name_prefixes=True,
    ),
    "azure": lambda: AzureOpenAIChatCompletionClient(
        model="gpt-4o",
        azure_endpoint="https://x.example",
        azure_deployment="d",
        api_version="2024-06-01",
        api_key="sk-secret",
    ),
    "claude": lambda: AnthropicChatCompletionClient(
        model="claude-3-7-sonnet-20250219",
        api_key="sk-secret",
        max_tokens=9,
        temperature=0.5,
        thinking=ThinkingConfig(type="enabled", budget_tokens=2000),
    ),
    "claude on bedrock": lambda: AnthropicBedrockChatCompletionClient(
        model="anthropic.claude-own",
        model_info=INFO,
        max_tokens=9,
        temperature=0.5,
        bedrock_info=BedrockInfo(
            aws_access_key="a-key",
            aws_secret_key="a-secret",
            aws_session_token="a-token",
            aws_region="eu-central-1",
        ),
    ),
    "azure with tokens": lambda: azure_with_tokens(),
    "ollama": lambda: OllamaChatCompletionClient(
        model="llama3.2", host="http://localhost:11434", options={"temperature": 0.5}
    ),
    "agent tool": lambda: AgentTool(agent(), return_value_as_last_message=True),
    "team tool": lambda: TeamTool(round_robin(), "both", "Two of them.", True),
    "code tool": lambda: code_tool(),
    "http tool": lambda: http_tool(),
    "static workbench": lambda: StaticWorkbench(
        [code_tool()], tool_overrides={"CodeExecutor": ToolOverride(name="run", description="Run.")}
    ),
    "static stream workbench": lambda: StaticStreamWorkbench([code_tool()]),
    "mcp workbench": lambda: mcp(),
    "mcp workbench, sse": lambda: McpWorkbench(SseServerParams(url="http://localhost/sse")),
    "mcp workbench, http": lambda: McpWorkbench(
        StreamableHttpServerParams(url="http://localhost/mcp", headers={"a": "b"})
    ),
    "mcp session actor": lambda: McpSessionActor(StdioServerParams(command="server")),
    **mcp_adapters(),
    "local executor": lambda: LocalCommandLineCodeExecutor(
        timeout=7, work_dir=".", functions_module="mine", cleanup_temp_files=False
    ),
    "docker executor": lambda: DockerCommandLineCodeExecutor(
        image="python:3.12-slim",
        container_name="runs-code",
        timeout=7,
        auto_remove=False,
        init_command="true",
        extra_hosts={"a": "127.0.0.1"},
    ),
    "structured message factory": lambda: StructuredMessageFactory(
        input_model=Weather, format_string="{city}"
    ),
}

WITH_SOURCE: dict[str, Callable[[], Any]] = {
    "function tool": tool,
    "assistant with a tool": lambda: agent(tools=[tool()]),
    "workbench with a function": lambda: StaticWorkbench([tool()]),
}


def azure_with_tokens() -> AzureOpenAIChatCompletionClient:
    form = {
        "provider": "teams.auth.azure.AzureTokenProvider",
        "config": {"provider_kind": "DefaultAzureCredential", "scopes": ["https://x/.default"]},
    }
    return AzureOpenAIChatCompletionClient(
        model="gpt-4o",
        azure_endpoint="https://x.example",
        api_version="2024-06-01",
        azure_ad_token_provider=ComponentLoader.load_component(form, AzureTokenProvider),
    )


def code_tool() -> PythonCodeExecutionTool:
    return PythonCodeExecutionTool(LocalCommandLineCodeExecutor(work_dir="."))


def http_tool() -> HttpTool:
    text = {"type": "string"}
    schema = {"type": "object", "properties": {"id": text, "page": text}, "required": ["id"]}
    return HttpTool(
        "book",
        "localhost",
        8080,
        schema,
        headers={"Accept": "application/json"},
        description="Find a book.",
        path="/books/{id}",
        scheme="https",
        method="GET",
        return_type="json",
        timeout=3,
    )


def fact() -> MemoryContent:
    return MemoryContent(content="Snow.", mime_type=MemoryMimeType.TEXT, metadata={"day": 1})


def mcp() -> McpWorkbench:
    return McpWorkbench(StdioServerParams(command="server", args=["-v"], env={"A": "b"}))


def disk_store() -> Any:
    form = {
        "provider": "teams.cache_store.diskcache.DiskCacheStore",
        "config": {"directory": "/tmp/parley-none"},
    }
    return ComponentLoader.load_component(form, DiskCacheStore)


@pytest.fixture(scope="module")
def parley() -> dict[str, dict[str, Any]]:
    """Each case as Parley writes it for AutoGen."""
    if not os.environ.get("AUTOGEN_PYTHON"):
        pytest.skip("AutoGen 0.7.5 has an environment of its own: `make autogen` runs this")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        for variable in KEYS:
            patch.setenv(variable, "sk-none")
        warnings.simplefilter("ignore", UserWarning)  # containers, and executors without one
        return {name: as_autogen(make()) for name, make in (CASES | WITH_SOURCE).items()}


@pytest.fixture(scope="module")
def autogen(parley: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each case as AutoGen loaded and wrote it."""
    done = subprocess.run(
        [os.environ["AUTOGEN_PYTHON"], "-I", ROOT / "benchmarks" / "autogen" / "round_trip.py"],
        input=json.dumps(parley),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def as_autogen(component: Any) -> dict[str, Any]:
    return component.dump_component(provider="autogen").model_dump(mode="json")


def without_texts(form: Any) -> Any:
    """The component without texts on its class and fields that say nothing."""
    match form:
        # What AutoGen writes for an agent without tools.
        case {"workbench": [{"config": {"tools": [], "tool_overrides": {}}}]}:
            return without_texts({key: form[key] for key in form if key != "workbench"})
        case dict():
            dropped = {"description", "label"} if "provider" in form else set[str]()
            return {
                key: without_texts(value)
                for key, value in form.items()
                if key not in dropped and value is not None
            }
        case list():
            return [without_texts(each) for each in form]
        case _:
            return form


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", CASES)
def test_a_component_comes_back_from_autogen_as_it_left(
    name: str,
    parley: dict[str, dict[str, Any]],
    autogen: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in KEYS:
        monkeypatch.setenv(variable, "sk-none")
    theirs = autogen[name]
    assert "error" not in theirs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        back = ComponentLoader.load_component(theirs["component"], object)
        assert without_texts(as_autogen(back)) == without_texts(parley[name])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", WITH_SOURCE)
def test_autogen_makes_a_tool_of_the_source_code(
    name: str, autogen: dict[str, dict[str, Any]]
) -> None:
    assert autogen[name].get("tools") == [json.loads(json.dumps(tool().schema))]


def test_only_fields_of_autogens_configs_are_written(
    parley: dict[str, dict[str, Any]], autogen: dict[str, dict[str, Any]]
) -> None:
    written: dict[str, set[str]] = {}

    def collect(form: Any) -> None:
        if isinstance(form, list):
            for each in form:
                collect(each)
        elif isinstance(form, dict):
            if isinstance(form.get("provider"), str) and "config" in form:
                written.setdefault(form["provider"], set()).update(form["config"])
            for each in form.values():
                collect(each)

    collect(parley)
    allowed: dict[str, list[str]] = {}
    for each in autogen.values():
        allowed |= each["fields"]
    too_much = {name: keys - set(allowed[name]) for name, keys in written.items()}
    assert {name: keys for name, keys in too_much.items() if keys} == {}


def test_every_kind_of_component_is_among_the_cases(parley: dict[str, dict[str, Any]]) -> None:
    text = json.dumps(parley)
    counterparts = {name: autogen_provider(name) for name in known_providers()}
    only_ours = [name for name, theirs in counterparts.items() if theirs is None]
    later = (
        *("teams.conversable.", "teams.tools.azure."),
        "teams.tools.mcp.",
    )
    assert [name for name in only_ours if not name.startswith(later)] == [
        "teams.memory.knowledge.KnowledgeMemory",
        "teams.model_context.AutoChatCompletionContext",
        "teams.models.fallback.FallbackChatCompletionClient",
    ]
    # AutoGen's environment has no packages of stores, browsers, notebooks and documents, without
    # which these modules can't be imported.
    absent = (
        "autogen_ext.agents.file_surfer.",
        "autogen_ext.agents.web_surfer.",
        "autogen_ext.cache_store.redis.",
        "autogen_ext.code_executors.jupyter.",
        "autogen_ext.memory.",
    )
    theirs = [each for each in counterparts.values() if each and not each.startswith(absent)]
    assert [each for each in theirs if each not in text] == []
