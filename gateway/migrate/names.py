"""AutoGen's modules and names: their home here, or what to do instead."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from teams.absent import SAME_MODULES, instead_of

PACKAGE = re.compile(
    r"\b(?:py)?autogen[-_](?:agentchat|core|ext)\b|\bpyautogen\b|\bautogenstudio\b"
    r"|(?<![\w./-])(?:ag2|autogen)(?![\w./-])"
)
"""Packages on PyPI that Parley stands in for."""

ROOTS = ("autogen", "autogen_agentchat", "autogen_core", "autogen_ext")

_CONVERSABLE = ("teams.conversable",)
_TWO_AGENTS = (
    "agentchat agentchat.agent agentchat.assistant_agent agentchat.chat agentchat.conversable_"
    "agent agentchat.groupchat agentchat.user_proxy_agent agentchat.utils cache "
    "cache.abstract_cache_base cache.cache exception_utils io io.base io.console llm_config oai "
    "oai.client oai.openai_utils"
)
"""Modules of version 0.2 and AG2 whose names `teams.conversable` has."""

_CODING = ("teams.code_executor", "teams.code_executors")
_LOCAL, _DOCKER = "teams.code_executors.local", "teams.code_executors.docker"
_JUPYTER = ("teams.code_executors.docker_jupyter",)

MODULES: Mapping[str, tuple[str, ...]] = {
    "autogen_agentchat": ("teams",),
    "autogen_agentchat.teams": ("teams",),  # its own name goes
    "autogen_core": ("teams.core",),
    "autogen_ext.models.openai.config": ("teams.models.openai", "teams.models", "teams.core"),
    **{theirs: (ours,) for theirs, ours in SAME_MODULES.items()},
    "autogen": _CONVERSABLE,
    **{f"autogen.{each}": _CONVERSABLE for each in _TWO_AGENTS.split()},
    "autogen.coding": (*_CODING, _LOCAL, _DOCKER),
    "autogen.coding.base": _CODING,
    "autogen.coding.docker_commandline_code_executor": (_DOCKER,),
    "autogen.coding.func_with_reqs": _CODING,
    "autogen.coding.jupyter": _JUPYTER,
    "autogen.coding.jupyter.base": _JUPYTER,
    "autogen.coding.jupyter.docker_jupyter_server": _JUPYTER,
    "autogen.coding.jupyter.jupyter_client": _JUPYTER,
    "autogen.coding.local_commandline_code_executor": (_LOCAL,),
}
"""AutoGen's module -> ours, the first that has the name."""

_PAIRS = "see docs/migrate-from-autogen.md, 'Keep two-agent chats'"
_STUDIO = "describe the team in config.toml; `parley teams import` reads Studio's files"

# Advice beside that of `teams.absent`.
_ADVICE: Mapping[str, str] = {
    "autogen_agentchat.teams._group_chat._base_group_chat_manager": (
        "a subclass of BaseGroupChat has select_speaker; there is no manager"
    ),
    "autogenstudio": _STUDIO,
    "autogen_studio": _STUDIO,
    "magentic_one_cli": 'use `parley run` with a team of type "magentic_one"',
    "autogen": _PAIRS,
    "pyautogen": _PAIRS,
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
    if name == "__version__" and module in (*ROOTS, "autogen.version"):
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
