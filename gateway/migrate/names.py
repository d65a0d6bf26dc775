"""AutoGen's modules and names: their home here, or what to do instead."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

ROOTS = ("autogen_agentchat", "autogen_core", "autogen_ext")

# AutoGen's module -> ours, the first that has the name. `autogen_agentchat.teams` is the one whose
# own name goes: a team is at the top of `teams`.
MODULES: Mapping[str, tuple[str, ...]] = {
    "autogen_agentchat": ("teams",),
    "autogen_agentchat.agents": ("teams.agents",),
    "autogen_agentchat.base": ("teams.base",),
    "autogen_agentchat.conditions": ("teams.conditions",),
    "autogen_agentchat.messages": ("teams.messages",),
    "autogen_agentchat.state": ("teams.state",),
    "autogen_agentchat.teams": ("teams",),
    "autogen_agentchat.tools": ("teams.tools",),
    "autogen_agentchat.ui": ("teams.ui",),
    "autogen_agentchat.utils": ("teams.utils",),
    "autogen_core": ("teams.core",),
    "autogen_core.code_executor": ("teams.code_executor",),
    "autogen_core.logging": ("teams.logging",),
    "autogen_core.memory": ("teams.memory",),
    "autogen_core.model_context": ("teams.model_context",),
    "autogen_core.models": ("teams.models",),
    "autogen_core.tools": ("teams.tools",),
    "autogen_core.utils": ("teams.utils",),
    "autogen_ext.cache_store": ("teams.cache_store",),
    "autogen_ext.cache_store.diskcache": ("teams.cache_store.diskcache",),
    "autogen_ext.code_executors": ("teams.code_executors",),
    "autogen_ext.code_executors.docker": ("teams.code_executors.docker",),
    "autogen_ext.code_executors.local": ("teams.code_executors.local",),
    "autogen_ext.models": ("teams.models",),
    "autogen_ext.models.cache": ("teams.models.cache",),
    "autogen_ext.models.openai": ("teams.models.openai",),
    "autogen_ext.models.openai.config": ("teams.models.openai", "teams.models", "teams.core"),
    "autogen_ext.models.replay": ("teams.models.replay",),
    "autogen_ext.tools": ("teams.tools",),
    "autogen_ext.tools.code_execution": ("teams.tools.code_execution",),
    "autogen_ext.tools.mcp": ("teams.tools.mcp",),
}

_NO_RUNTIME = (
    "there is no actor runtime: write the agent as a BaseChatAgent with on_messages, and let a "
    "team call it"
)
_INTERCEPT = "use a ToolInterceptor for tool calls"
_SPANS = "use OpenTelemetry's own tracer; runs, agents and tools have spans already"
_OWN_CLIENT = "there is no such client: use teams.models.openai with base_url and model_info"
_OWN_MEMORY = "there is no such memory: write a class of your own on teams.memory.Memory"
_IN_DOCKER = "use teams.code_executors.docker, which runs code in a container"
_STUDIO = "describe the team in config.toml; `parley teams import` reads Studio's files"
_AS_FUNCTION = "pass a function of yours that calls it as a tool"

# What has no counterpart, by module or by module and name: what to do.
_ADVICE: Mapping[str, str] = {
    "autogen_core.ComponentSchemaType": "use teams.core.ComponentBase",
    "autogen_core.DefaultInterventionHandler": _INTERCEPT,
    "autogen_core.DropMessage": _INTERCEPT,
    "autogen_core.InterventionHandler": _INTERCEPT,
    "autogen_core.exceptions": "catch TeamError or ModelError; nothing is sent between actors",
    "autogen_core.logging": "use MessageEvent; nothing is sent between actors",
    "autogen_core.trace_create_agent_span": _SPANS,
    "autogen_core.trace_invoke_agent_span": _SPANS,
    "autogen_core.trace_tool_span": _SPANS,
    "autogen_core.tool_agent": "an AssistantAgent calls its tools itself",
    "autogen_core": _NO_RUNTIME,
    "autogen_ext.agents.file_surfer": "give an agent functions of yours that read files, as tools",
    "autogen_ext.agents.magentic_one": "use an AssistantAgent with a system message of yours",
    "autogen_ext.agents.web_surfer": "use an MCP server for a browser, with teams.tools.mcp",
    "autogen_ext.agents": "use an AssistantAgent with tools, or a BaseChatAgent of your own",
    "autogen_ext.auth": "pass a function that returns a token as azure_ad_token_provider",
    "autogen_ext.cache_store": "use teams.cache_store.diskcache, or a CacheStore of your own",
    "autogen_ext.code_executors": _IN_DOCKER,
    "autogen_ext.experimental": _OWN_MEMORY,
    "autogen_ext.memory": _OWN_MEMORY,
    "autogen_ext.models.anthropic": (
        "use teams.models.openai with base_url='https://api.anthropic.com/v1/' and model_info"
    ),
    "autogen_ext.models.llama_cpp": (
        "start llama.cpp's server and use teams.models.openai with its base_url and model_info"
    ),
    "autogen_ext.models.ollama": (
        "use teams.models.openai with base_url='http://localhost:11434/v1' and model_info"
    ),
    "autogen_ext.models": _OWN_CLIENT,
    "autogen_ext.models.openai.AZURE_OPENAI_USER_AGENT": "pass default_headers to the client",
    "autogen_ext.runtimes": _NO_RUNTIME,
    "autogen_ext.tools.mcp.McpSessionActor": "use McpWorkbench",
    "autogen_ext.teams.magentic_one": "use teams.MagenticOneGroupChat with agents of yours",
    "autogen_ext.tools": _AS_FUNCTION,
    "autogen_ext.ui": "use teams.ui.Console",
    "autogenstudio": _STUDIO,
    "autogen_studio": _STUDIO,
    "magentic_one_cli": 'use `parley run` with a team of type "magentic_one"',
    "autogen": "this is version 0.2: see docs/migrate-from-autogen.md, 'From version 0.2'",
    "pyautogen": "this is version 0.2: see docs/migrate-from-autogen.md, 'From version 0.2'",
}
_NOT_PUBLIC = "it is not there; look for a public name that does it"


@dataclass(frozen=True, slots=True)
class Here:
    """A name's home here, or a module, whose `name` is empty."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Absent:
    """A name without a counterpart."""

    advice: str


Found: TypeAlias = "Here | Absent"


def is_autogen(dotted: str) -> bool:
    """True for a name of AutoGen or its tools."""
    root = dotted.partition(".")[0]
    return root in ROOTS or root in _ADVICE


def find_module(module: str) -> Found:
    """Our counterpart of a module."""
    if module in MODULES:
        return Here(MODULES[module][0])
    return Absent(_advice(module))


def find_name(module: str, name: str) -> Found:
    """Our home of `from module import name`; a module has no `name`."""
    inner = f"{module}.{name}"
    if inner in MODULES:
        return Here(MODULES[inner][0])
    for ours in MODULES.get(_public(module), ()):
        if has_name(ours, name):
            return Here(ours, name)
    return Absent(_advice(inner))


def find_dotted(dotted: str) -> tuple[Found, str] | None:
    """Counterpart of a dotted name's longest beginning, and the rest.

    None if it is no name of AutoGen, or only the beginning of one.
    """
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if module not in MODULES:
            continue
        if length == len(parts):
            return find_module(module), ""
        found = find_name(module, parts[length])
        return found, ".".join(parts[length + 1 :])
    if is_autogen(dotted) and dotted not in ROOTS:
        return find_module(dotted), ""
    return None


@cache
def has_name(module: str, name: str) -> bool:
    """True if our public module has the name."""
    loaded = importlib.import_module(module)
    return name in getattr(loaded, "__all__", dir(loaded))


def _public(module: str) -> str:
    """The public module around a private one."""
    parts = module.split(".")
    private = next((at for at, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:private])


def _advice(dotted: str) -> str:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        if known := _ADVICE.get(".".join(parts[:length])):
            return known
    return _NOT_PUBLIC
