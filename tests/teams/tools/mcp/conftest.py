"""A quick server that asks its client back, and what it noted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from teams.tools.mcp import StdioServerParams

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def quick(notes: Path) -> Callable[..., StdioServerParams]:
    """Parameters of a server of the tests, by its arguments."""

    def params(*arguments: str, module: str = "quick_mcp_server") -> StdioServerParams:
        return StdioServerParams(
            command=sys.executable,
            args=["-m", f"tests.fakes.{module}", *arguments],
            cwd=str(ROOT),
            env={"NOTES": str(notes)},
            read_timeout_seconds=20,
        )

    return params


@pytest.fixture
def asking(quick: Callable[..., StdioServerParams]) -> StdioServerParams:
    return quick("--more")
