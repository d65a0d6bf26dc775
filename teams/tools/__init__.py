"""Tools and workbenches: what models may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams._team_tools.agent_tool import AgentTool
    from teams._team_tools.team_tool import TeamTool
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams._team_tools.agent_tool": ("AgentTool",),
            "teams.tools._base": (
                "BaseStreamTool",
                "BaseTool",
                "BaseToolWithState",
                "StreamTool",
                "Tool",
                "ToolTraits",
            ),
            "teams.tools._function": ("FunctionTool",),
            "teams.tools._schema": (
                "ParametersSchema",
                "ToolSchema",
            ),
            "teams.tools._static_workbench": (
                "StaticStreamWorkbench",
                "StaticWorkbench",
            ),
            "teams._team_tools.team_tool": ("TeamTool",),
            "teams.tools._workbench": (
                "ImageResultContent",
                "StreamWorkbench",
                "TextResultContent",
                "ToolOverride",
                "ToolResult",
                "Workbench",
            ),
        },
    )
