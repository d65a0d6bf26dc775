"""Tools as functions of Semantic Kernel; they need the extra `semantic-kernel`."""

from teams.tools.semantic_kernel._functions import (
    KernelFunctionFromTool,
    KernelFunctionFromToolSchema,
)

__all__ = ["KernelFunctionFromTool", "KernelFunctionFromToolSchema"]
