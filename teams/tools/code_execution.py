"""Code execution as a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_serializer
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.code import CodeBlock
from teams._base.image import Image
from teams._components.component import Component, ComponentModel
from teams._tools.base import BaseTool
from teams.code_executors._base import CodeExecutor
from teams.code_executors._cell import pictures_of


class CodeExecutionInput(BaseModel, defer_build=True):
    """The arguments."""

    code: str = Field(description="The Python code to execute.")


class CodeExecutionResult(BaseModel, defer_build=True):
    """The result of the code; for a model it is the output."""

    success: bool
    output: str

    images: list[Image] = Field(default=[], exclude=True)
    """Pictures that the code showed."""

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
        return CodeExecutionResult(
            success=result.exit_code == 0, output=output, images=pictures_of(result)
        )

    @override
    def return_value_images(self, value: Any) -> Sequence[Image]:
        return value.images if isinstance(value, CodeExecutionResult) else ()

    @override
    def state_type(self) -> type[BaseModel] | None:
        has_state = type(self._executor).save_state is not CodeExecutor.save_state
        return BaseModel if has_state else None

    @override
    async def save_state_json(self) -> Mapping[str, Any]:
        return await self._executor.save_state()

    @override
    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        await self._executor.load_state(state)

    @classmethod
    @override
    def _from_config(cls, config: PythonCodeExecutionToolConfig) -> Self:
        return cls(CodeExecutor.load_component(config.executor))


__all__ = ["CodeExecutionInput", "CodeExecutionResult", "PythonCodeExecutionTool"]
