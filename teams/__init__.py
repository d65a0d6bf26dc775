"""Teams of agents: an independent implementation of the AutoGen AgentChat API.

Teams stand here; agents, messages, conditions, tools, models and the rest in the modules of the
same names.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from teams._base.lazy_exports import AbsentModules, lazy_exports

if TYPE_CHECKING:
    from teams._base.telemetry import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME
    from teams._engine.group_chat import BaseGroupChat
    from teams._group_chats.graph import DiGraph, DiGraphBuilder, DiGraphEdge, DiGraphNode
    from teams._group_chats.graph_flow import GraphFlow
    from teams._group_chats.magentic_one import MagenticOneGroupChat
    from teams._group_chats.round_robin import RoundRobinGroupChat
    from teams._group_chats.selector import SelectorGroupChat
    from teams._group_chats.swarm import Swarm
    from teams._version import __version__

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
            "teams._group_chats.graph": ("DiGraph", "DiGraphBuilder", "DiGraphEdge", "DiGraphNode"),
            "teams._group_chats.graph_flow": ("GraphFlow",),
            "teams._engine.group_chat": ("BaseGroupChat",),
            "teams._group_chats.magentic_one": ("MagenticOneGroupChat",),
            "teams._group_chats.round_robin": ("RoundRobinGroupChat",),
            "teams._group_chats.selector": ("SelectorGroupChat",),
            "teams._group_chats.swarm": ("Swarm",),
            "teams._version": ("__version__",),
            "teams._base.telemetry": ("EVENT_LOGGER_NAME", "TRACE_LOGGER_NAME"),
        },
    )

sys.meta_path.append(AbsentModules)
