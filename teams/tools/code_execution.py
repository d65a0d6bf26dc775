"""Code execution as a tool."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field, model_serializer
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock
from teams._components.component import Component, ComponentModel
from teams._tools.base import BaseTool
from teams.code_executors._base import CodeExecutor


class CodeExecutionInput(BaseModel, defer_build=True):
    """The arguments."""

    code: str = Field(description="The Python code to execute.")


class CodeExecutionResult(BaseModel, defer_build=True):
    """The result of the code; for a model it is the output."""

    success: bool
    output: str

    @model_serializer
    def _as_output(self) -> str:
        return self.output


class PythonCodeExecutionToolConfig(BaseModel, defer_build=True):
    """See `PythonCodeExecutionTool`."""

    executor: Annotated[ComponentModel, CodeExecutor]
    description: str = "Execute Python code blocks."


class PythonCodeExecutionTool(
    BaseTool[CodeExecutionInput, CodeExecutionResult], Component[PythonCodeExecutionToolConfig]
):
    """The tool `CodeExecutor`: a model executes Python code with your executor."""

    component_config_schema = PythonCodeExecutionToolConfig

    def __init__(self, executor: CodeExecutor) -> None:
        super().__init__(
            CodeExecutionInput, CodeExecutionResult, "CodeExecutor", "Execute Python code blocks."
        )
        self._executor = executor

    @override
    async def run(
        self, args: CodeExecutionInput, cancellation_token: CancellationToken
    ) -> CodeExecutionResult:
        """Execute the code."""
        block = CodeBlock(code=args.code, language="python")
        result = await self._executor.execute_code_blocks([block], cancellation_token)
        output = result.output or f"(no output, exit code {result.exit_code})"
        return CodeExecutionResult(success=result.exit_code == 0, output=output)

    @classmethod
    @override
    def _from_config(cls, config: PythonCodeExecutionToolConfig) -> Self:
        return cls(CodeExecutor.load_component(config.executor))


__all__ = ["CodeExecutionInput", "CodeExecutionResult", "PythonCodeExecutionTool"]
