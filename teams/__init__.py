"""Teams of agents: an independent implementation of the AutoGen AgentChat API.

Teams stand here; agents, messages, conditions, tools, models and the rest in the modules of the
same names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._exports import lazy_exports

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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams._graph": (
                "DiGraph",
                "DiGraphBuilder",
                "DiGraphEdge",
                "DiGraphNode",
            ),
            "teams._graph_flow": ("GraphFlow",),
            "teams._group_chat": ("BaseGroupChat",),
            "teams._magentic_one": ("MagenticOneGroupChat",),
            "teams._round_robin": ("RoundRobinGroupChat",),
            "teams._selector": ("SelectorGroupChat",),
            "teams._swarm": ("Swarm",),
            "teams._version": ("__version__",),
            "teams.core": (
                "EVENT_LOGGER_NAME",
                "TRACE_LOGGER_NAME",
            ),
        },
    )
