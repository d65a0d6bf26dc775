"""Code, and what comes of executing it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class CodeBlock:
    """A piece of code and its language, e.g. `python` or `sh`."""

    code: str
    language: str


@dataclass(slots=True)
class CodeResult:
    """What came of executing code: 0 for success, and what it wrote."""

    exit_code: int
    output: str
