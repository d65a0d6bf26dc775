"""Code execution as a tool: the home of its names."""

from __future__ import annotations

from teams.tools._code_execution import (
    CodeExecutionInput,
    CodeExecutionResult,
    PythonCodeExecutionTool,
)

__all__ = ["CodeExecutionInput", "CodeExecutionResult", "PythonCodeExecutionTool"]
