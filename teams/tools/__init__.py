"""Tools and workbenches: what models may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teams._base.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from teams._team_tools.agent_tool import AgentTool
    from teams._team_tools.team_tool import TeamTool
    from teams._tools.base import (
        BaseStreamTool,
        BaseTool,
        BaseToolWithState,
        StreamTool,
        Tool,
        ToolTraits,
    )
    from teams._tools.function import FunctionTool, set_traits
    from teams._tools.result_size import fit_result, text_bytes
    from teams._tools.schema import ParametersSchema, ToolSchema
    from teams._tools.static_workbench import StaticStreamWorkbench, StaticWorkbench
    from teams._tools.workbench import (
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
    "fit_result",
    "set_traits",
    "text_bytes",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "teams._team_tools.agent_tool": ("AgentTool",),
            "teams._tools.base": (
                "BaseStreamTool",
                "BaseTool",
                "BaseToolWithState",
                "StreamTool",
                "Tool",
                "ToolTraits",
            ),
            "teams._tools.function": ("FunctionTool", "set_traits"),
            "teams._tools.result_size": ("fit_result", "text_bytes"),
            "teams._tools.schema": ("ParametersSchema", "ToolSchema"),
            "teams._tools.static_workbench": ("StaticStreamWorkbench", "StaticWorkbench"),
            "teams._team_tools.team_tool": ("TeamTool",),
            "teams._tools.workbench": (
                "ImageResultContent",
                "StreamWorkbench",
                "TextResultContent",
                "ToolOverride",
                "ToolResult",
                "Workbench",
            ),
        },
    )
