"""A piece of code, and the result of executing it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class CodeBlock:
    """A piece of code and its language, e.g. `python` or `sh`."""

    code: str
    language: str


@dataclass(slots=True)
class CodeResult:
    """The result of executed code: its output, and 0 for success."""

    exit_code: int
    output: str


@dataclass(slots=True)
class CommandLineCodeResult(CodeResult):
    """The result of code that ran as a script."""

    code_file: str | None = None
    """The script of the first block, which may have been removed since."""


@dataclass(slots=True)
class JupyterCodeResult(CodeResult):
    """The result of code that ran in a notebook's kernel."""

    output_files: list[Path] = field(default_factory=list[Path])
    """Pictures and HTML that the code showed."""
