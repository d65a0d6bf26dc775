"""AutoGen's modules and names: their home here, or what to do instead."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from teams.absent import instead_of

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
    "autogen_ext.agents.azure": ("teams.agents.azure",),
    "autogen_ext.agents.file_surfer": ("teams.agents.file_surfer",),
    "autogen_ext.agents.magentic_one": ("teams.agents.magentic_one",),
    "autogen_ext.agents.openai": ("teams.agents.openai",),
    "autogen_ext.agents.video_surfer": ("teams.agents.video_surfer",),
    "autogen_ext.agents.video_surfer.tools": ("teams.agents.video_surfer.tools",),
    "autogen_ext.agents.web_surfer": ("teams.agents.web_surfer",),
    "autogen_ext.auth.azure": ("teams.auth.azure",),
    "autogen_ext.cache_store": ("teams.cache_store",),
    "autogen_ext.cache_store.diskcache": ("teams.cache_store.diskcache",),
    "autogen_ext.cache_store.redis": ("teams.cache_store.redis",),
    "autogen_ext.code_executors": ("teams.code_executors",),
    "autogen_ext.code_executors.docker": ("teams.code_executors.docker",),
    "autogen_ext.code_executors.docker_jupyter": ("teams.code_executors.docker_jupyter",),
    "autogen_ext.code_executors.jupyter": ("teams.code_executors.jupyter",),
    "autogen_ext.code_executors.local": ("teams.code_executors.local",),
    "autogen_ext.experimental.task_centric_memory": ("teams.experimental.task_centric_memory",),
    "autogen_ext.experimental.task_centric_memory.utils": (
        "teams.experimental.task_centric_memory.utils",
    ),
    "autogen_ext.memory.canvas": ("teams.memory.canvas",),
    "autogen_ext.memory.chromadb": ("teams.memory.chromadb",),
    "autogen_ext.memory.mem0": ("teams.memory.mem0",),
    "autogen_ext.memory.redis": ("teams.memory.redis",),
    "autogen_ext.models": ("teams.models",),
    "autogen_ext.models.anthropic": ("teams.models.anthropic",),
    "autogen_ext.models.azure": ("teams.models.azure",),
    "autogen_ext.models.cache": ("teams.models.cache",),
    "autogen_ext.models.ollama": ("teams.models.ollama",),
    "autogen_ext.models.openai": ("teams.models.openai",),
    "autogen_ext.models.openai.config": ("teams.models.openai", "teams.models", "teams.core"),
    "autogen_ext.models.replay": ("teams.models.replay",),
    "autogen_ext.models.semantic_kernel": ("teams.models.semantic_kernel",),
    "autogen_ext.teams.magentic_one": ("teams.teams.magentic_one",),
    "autogen_ext.tools": ("teams.tools",),
    "autogen_ext.tools.azure": ("teams.tools.azure",),
    "autogen_ext.tools.code_execution": ("teams.tools.code_execution",),
    "autogen_ext.tools.graphrag": ("teams.tools.graphrag",),
    "autogen_ext.tools.http": ("teams.tools.http",),
    "autogen_ext.tools.langchain": ("teams.tools.langchain",),
    "autogen_ext.tools.mcp": ("teams.tools.mcp",),
    "autogen_ext.tools.semantic_kernel": ("teams.tools.semantic_kernel",),
    "autogen_ext.ui": ("teams.ui",),
}

_OLD = "version 0.2: see docs/migrate-from-autogen.md, 'From version 0.2'"
_STUDIO = "describe the team in config.toml; `parley teams import` reads Studio's files"

# Advice beside that of `teams.absent`.
_ADVICE: Mapping[str, str] = {
    "autogen_agentchat.teams._group_chat._base_group_chat_manager": (
        "a subclass of BaseGroupChat has select_speaker; there is no manager"
    ),
    "autogenstudio": _STUDIO,
    "autogen_studio": _STUDIO,
    "magentic_one_cli": 'use `parley run` with a team of type "magentic_one"',
    "autogen": _OLD,
    "pyautogen": _OLD,
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
    if name == "__version__" and module in ROOTS:
        return Here("teams", name)
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
    if instead := instead_of(dotted):
        return f"not there; use {instead}"
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        if known := _ADVICE.get(".".join(parts[:length])):
            return known
    return _NOT_PUBLIC
