"""The interface of code executors, and types of code and results."""

from teams._base.code import CodeBlock, CodeResult
from teams._base.code_functions import (
    Alias,
    FunctionWithRequirements,
    FunctionWithRequirementsStr,
    Import,
    ImportFromModule,
    with_requirements,
)
from teams.code_executors._base import EXECUTE_CODE, CodeExecutor

__all__ = [
    "EXECUTE_CODE",
    "Alias",
    "CodeBlock",
    "CodeExecutor",
    "CodeResult",
    "FunctionWithRequirements",
    "FunctionWithRequirementsStr",
    "Import",
    "ImportFromModule",
    "with_requirements",
]
