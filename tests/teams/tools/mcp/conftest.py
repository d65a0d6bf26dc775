"""A quick server that asks its client back, and what it noted."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from teams.tools.mcp import McpWorkbench, StdioServerParams
from tests.teams.tools.mcp.used_servers import started_with

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


@pytest.fixture
def params(notes: Path) -> StdioServerParams:
    return started_with("tests.fakes.quick_mcp_server", notes)


@pytest.fixture
async def workbench(params: StdioServerParams) -> AsyncIterator[McpWorkbench]:
    async with McpWorkbench(params) as started:
        yield started
