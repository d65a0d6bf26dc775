"""Tools and workbenches: what models may call."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from teams.tools._base import (
    BaseStreamTool,
    BaseTool,
    BaseToolWithState,
    StreamTool,
    Tool,
    ToolTraits,
)
from teams.tools._function import FunctionTool
from teams.tools._schema import ParametersSchema, ToolSchema
from teams.tools._static_workbench import StaticStreamWorkbench, StaticWorkbench
from teams.tools._workbench import (
    ImageResultContent,
    StreamWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    Workbench,
)

if TYPE_CHECKING:
    from teams.tools._agent_tool import AgentTool
    from teams.tools._team_tool import TeamTool

__all__ = [
    "AgentTool",
    "BaseStreamTool",
    "BaseTool",
    "BaseToolWithState",
    "FunctionTool",
    "ImageResultContent",
    "ParametersSchema",
    "StaticStreamWorkbench",
    "StaticWorkbench",
    "StreamTool",
    "StreamWorkbench",
    "TeamTool",
    "TextResultContent",
    "Tool",
    "ToolOverride",
    "ToolResult",
    "ToolSchema",
    "ToolTraits",
    "Workbench",
]

# Agents and teams have tools, so tools that have agents and teams are resolved on first use.
_HOMES = {"AgentTool": "teams.tools._agent_tool", "TeamTool": "teams.tools._team_tool"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
