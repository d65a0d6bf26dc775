"""Tools as functions of Semantic Kernel; they need the extra `semantic-kernel`."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from teams._base.extras import needs_extra
from teams._tools.base import BaseTool
from teams._tools.schema import ToolSchema

if TYPE_CHECKING:
    from semantic_kernel.functions import KernelFunction

__all__ = ["KernelFunctionFromTool", "KernelFunctionFromToolSchema"]


class KernelFunctionFromTool:
    """Makes a function of Semantic Kernel that runs the tool.

    The kernel calls it by itself: no policy of a run judges these calls. Raises ImportError without
    the extra `semantic-kernel`.
    """

    def __new__(cls, tool: BaseTool[Any, Any], plugin_name: str | None = None) -> KernelFunction:
        """Make the function."""
        return _module().ToolFunction(tool.schema, plugin_name, tool)


class KernelFunctionFromToolSchema:
    """Makes a function of Semantic Kernel that a model may ask for.

    Whoever asks the model runs the call: the function itself raises NotImplementedError.
    """

    def __new__(cls, tool_schema: ToolSchema, plugin_name: str | None = None) -> KernelFunction:
        """Make the function."""
        return _module().ToolFunction(tool_schema, plugin_name)


def _module() -> ModuleType:
    with needs_extra("Semantic Kernel needs an environment with", "semantic-kernel"):
        from teams.models.semantic_kernel import _function  # it imports an optional package

    return _function
