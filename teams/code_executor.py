"""The interface of code executors, and types of code and results."""

from teams._base.code import (
    Alias,
    CodeBlock,
    CodeResult,
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
