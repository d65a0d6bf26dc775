"""Teams of agents: an independent implementation of the AutoGen AgentChat API.

Teams stand here; agents, messages, conditions, tools, models and the rest in the modules of the
same names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from teams._graph import DiGraph, DiGraphBuilder, DiGraphEdge, DiGraphNode
    from teams._graph_flow import GraphFlow
    from teams._group_chat import BaseGroupChat
    from teams._magentic_one import MagenticOneGroupChat
    from teams._round_robin import RoundRobinGroupChat
    from teams._selector import SelectorGroupChat
    from teams._swarm import Swarm
    from teams._version import __version__
    from teams.core import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME

__all__ = [
    "EVENT_LOGGER_NAME",
    "TRACE_LOGGER_NAME",
    "BaseGroupChat",
    "DiGraph",
    "DiGraphBuilder",
    "DiGraphEdge",
    "DiGraphNode",
    "GraphFlow",
    "MagenticOneGroupChat",
    "RoundRobinGroupChat",
    "SelectorGroupChat",
    "Swarm",
    "__version__",
]

# Resolved on first use: who imports only `teams.messages` does not pay for the engine.
_HOMES = {
    "EVENT_LOGGER_NAME": "teams.core",
    "TRACE_LOGGER_NAME": "teams.core",
    "BaseGroupChat": "teams._group_chat",
    "DiGraph": "teams._graph",
    "DiGraphBuilder": "teams._graph",
    "DiGraphEdge": "teams._graph",
    "DiGraphNode": "teams._graph",
    "GraphFlow": "teams._graph_flow",
    "MagenticOneGroupChat": "teams._magentic_one",
    "RoundRobinGroupChat": "teams._round_robin",
    "SelectorGroupChat": "teams._selector",
    "Swarm": "teams._swarm",
    "__version__": "teams._version",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
