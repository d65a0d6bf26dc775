"""Tools and workbenches: what models may call."""

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
    "TextResultContent",
    "Tool",
    "ToolOverride",
    "ToolResult",
    "ToolSchema",
    "ToolTraits",
    "Workbench",
]
