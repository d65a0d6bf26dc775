"""The provider names and their classes: no config decides what is imported."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

TRUST_VARIABLE = "PARLEY_TRUSTED_PROVIDERS"

# Public module -> its component classes. The provider name is `module.Class`.
_OURS: Mapping[str, tuple[str, ...]] = {
    "teams": (
        "GraphFlow",
        "MagenticOneGroupChat",
        "RoundRobinGroupChat",
        "SelectorGroupChat",
        "Swarm",
    ),
    "teams.agents": (
        "AssistantAgent",
        "CodeExecutorAgent",
        "MessageFilterAgent",
        "SocietyOfMindAgent",
        "UserProxyAgent",
    ),
    "teams.agents.openai": ("OpenAIAgent",),
    "teams.agents.file_surfer": ("FileSurfer",),
    "teams.agents.magentic_one": ("MagenticOneCoderAgent",),
    "teams.agents.web_surfer": ("MultimodalWebSurfer",),
    "teams.auth.azure": ("AzureTokenProvider",),
    "teams.base": ("AndTerminationCondition", "OrTerminationCondition"),
    "teams.cache_store.diskcache": ("DiskCacheStore",),
    "teams.cache_store.redis": ("RedisStore",),
    "teams.code_executors.docker": ("DockerCommandLineCodeExecutor",),
    "teams.code_executors.jupyter": ("JupyterCodeExecutor",),
    "teams.code_executors.local": ("LocalCommandLineCodeExecutor",),
    "teams.conditions": (
        "ExternalTermination",
        "FunctionCallTermination",
        "HandoffTermination",
        "MaxMessageTermination",
        "SourceMatchTermination",
        "StopMessageTermination",
        "TextMentionTermination",
        "TextMessageTermination",
        "TimeoutTermination",
        "TokenUsageTermination",
    ),
    "teams.conversable": (
        "AssistantAgent",
        "ConversableAgent",
        "ConversableChat",
        "ConversableQueue",
        "UserProxyAgent",
    ),
    "teams.core": ("InMemoryStore",),
    "teams.memory": ("ListMemory",),
    "teams.memory.knowledge": ("KnowledgeMemory",),
    "teams.memory.chromadb": ("ChromaDBVectorMemory",),
    "teams.memory.mem0": ("Mem0Memory",),
    "teams.memory.redis": ("RedisMemory",),
    "teams.messages": ("StructuredMessageFactory",),
    "teams.model_context": (
        "AutoChatCompletionContext",
        "BufferedChatCompletionContext",
        "HeadAndTailChatCompletionContext",
        "TokenLimitedChatCompletionContext",
        "UnboundedChatCompletionContext",
    ),
    "teams.models.anthropic": (
        "AnthropicBedrockChatCompletionClient",
        "AnthropicChatCompletionClient",
    ),
    "teams.models.cache": ("ChatCompletionCache",),
    "teams.models.ollama": ("OllamaChatCompletionClient",),
    "teams.models.fallback": ("FallbackChatCompletionClient",),
    "teams.models.openai": ("AzureOpenAIChatCompletionClient", "OpenAIChatCompletionClient"),
    "teams.models.replay": ("ReplayChatCompletionClient",),
    "teams.tools": (
        "AgentTool",
        "FunctionTool",
        "StaticStreamWorkbench",
        "StaticWorkbench",
        "TeamTool",
    ),
    "teams.tools.azure": ("AzureAISearchTool",),
    "teams.tools.code_execution": ("PythonCodeExecutionTool",),
    "teams.tools.http": ("HttpTool",),
    "teams.tools.mcp": (
        "ChatCompletionClientSampler",
        "McpSessionActor",
        "McpSessionHost",
        "McpWorkbench",
        "RunElicitor",
        "SseMcpToolAdapter",
        "StaticRootsProvider",
        "StdioElicitor",
        "StdioMcpToolAdapter",
        "StreamableHttpMcpToolAdapter",
    ),
}

_SAME: Mapping[str, str] = {
    "autogen_ext": (
        "agents.azure agents.file_surfer agents.magentic_one agents.openai agents.video_surfer "
        "agents.video_surfer.tools agents.web_surfer auth.azure cache_store cache_store.diskcache "
        "cache_store.redis code_executors code_executors.docker code_executors.docker_jupyter "
        "code_executors.jupyter code_executors.local experimental.task_centric_memory "
        "experimental.task_centric_memory.utils memory.canvas memory.chromadb memory.mem0 "
        "memory.redis models models.anthropic models.azure models.cache models.ollama "
        "models.openai models.replay models.semantic_kernel teams.magentic_one tools tools.azure "
        "tools.code_execution tools.graphrag tools.http tools.langchain tools.mcp "
        "tools.semantic_kernel ui"
    ),
    "autogen_agentchat": "agents base conditions messages state tools ui utils",
    "autogen_core": "code_executor logging memory model_context models tools utils",
}

SAME_MODULES: Mapping[str, str] = {
    f"{root}.{each}": f"teams.{each}" for root, names in _SAME.items() for each in names.split()
}
"""AutoGen's modules that have their old names below `teams`."""

# AutoGen's public module -> ours, where the same class names are found.
_AUTOGEN_MODULES: Mapping[str, str] = {
    # AutoGen dumps it, a module that it has not; of several the last counts for what it is given.
    "autogen_ext.memory.redis_memory": "teams.memory.redis",
    **{theirs: ours for theirs, ours in SAME_MODULES.items() if ours in _OURS},
    "autogen_agentchat.teams": "teams",
    "autogen_core": "teams.core",
}

# AutoGen 0.7.5 can't load them: it has them not yet, or loses a field of its own.
_NOT_LOADED_THERE = frozenset(
    {
        "AutoChatCompletionContext",
        "AzureAISearchTool",
        "ChatCompletionClientSampler",
        "McpSessionHost",
        "RunElicitor",
        "StaticRootsProvider",
        "StdioElicitor",
    }
)

# AutoGen's names without a module.
_SHORT: Mapping[str, str] = {
    "AzureOpenAIChatCompletionClient": "teams.models.openai.AzureOpenAIChatCompletionClient",
    "azure_openai_chat_completion_client": "teams.models.openai.AzureOpenAIChatCompletionClient",
    "OpenAIChatCompletionClient": "teams.models.openai.OpenAIChatCompletionClient",
    "openai_chat_completion_client": "teams.models.openai.OpenAIChatCompletionClient",
}

_trusted: set[str] = set()


def trust_component_prefix(prefix: str) -> None:
    """Let configs name component classes below `prefix`, e.g. `"my_package."`, from now on.

    Their modules are imported when a config names them: trust only what you would import yourself.
    The environment variable PARLEY_TRUSTED_PROVIDERS takes a comma-separated list of the same.
    """
    if not (cleaned := prefix.strip().rstrip(".")):
        raise ValueError("A trusted prefix names a package or module, e.g. 'my_package.'.")
    _trusted.add(cleaned)


def canonical_provider(provider: str) -> str:
    """Our own name for one of AutoGen's; any other name unchanged."""
    if provider in _SHORT:
        return _SHORT[provider]
    module, _, name = provider.rpartition(".")
    return f"{_AUTOGEN_MODULES[module]}.{name}" if module in _AUTOGEN_MODULES else provider


def autogen_provider(provider: str) -> str | None:
    """AutoGen's name for one of ours; None if it has no counterpart."""
    return _autogen_names().get(provider)


@cache
def _autogen_names() -> Mapping[str, str]:
    # Two of AutoGen's modules may stand for one of ours; the tools over teams are AgentChat's.
    over_teams = ("AgentTool", "TeamTool")
    names = {
        f"{ours}.{name}": f"{theirs}.{name}"
        for theirs, ours in _AUTOGEN_MODULES.items()
        for name in _OURS[ours]
        if name not in _NOT_LOADED_THERE
    }
    return names | {f"teams.tools.{name}": f"autogen_agentchat.tools.{name}" for name in over_teams}


def is_foreign(provider: str) -> bool:
    """True for AutoGen's names, whose component versions count AutoGen's changes."""
    return canonical_provider(provider) != provider


def own_provider(name: str) -> str | None:
    """The public provider name of our component class called `name`."""
    return next((f"{module}.{name}" for module, names in _OURS.items() if name in names), None)


def known_providers() -> list[str]:
    """Every provider name of our own."""
    return [f"{module}.{name}" for module, names in _OURS.items() for name in names]


def resolve_provider(provider: str) -> Any:
    """Import what the name stands for; ValueError if unknown or not trusted."""
    module, _, name = canonical_provider(provider).rpartition(".")
    if name not in _OURS.get(module, ()) and not _is_trusted(provider):
        from teams._base.absent import PAGE, instead_of_provider  # here for start-up

        if instead := instead_of_provider(provider):
            raise ValueError(f"{provider!r} is not there. Use instead: {instead}. See {PAGE}.")
        raise ValueError(
            f"Unknown component provider {provider!r}. If it is yours, trust its package: call "
            f"teams.core.trust_component_prefix() or list the prefix in {TRUST_VARIABLE}."
        )
    return import_attribute(f"{module}:{name}")


def import_attribute(path: str) -> Any:
    """Import the object at `package.module:name`; ValueError if it does not exist."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise ValueError(f"Expected 'package.module:name', found {path!r}.")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"Cannot import {path!r}: {error}.") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"Cannot import {path!r}: {module!r} has no {name!r}.")
        found = getattr(found, part)
    return found


def _is_trusted(provider: str) -> bool:
    listed = {
        cleaned
        for entry in os.environ.get(TRUST_VARIABLE, "").split(",")
        if (cleaned := entry.strip().rstrip("."))
    }
    return any(provider.startswith(f"{prefix}.") for prefix in _trusted | listed)
