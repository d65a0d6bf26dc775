"""A quick server that asks its client back, and what it noted."""

from __future__ import annotations

import asyncio
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
    """How a server of the tests is started, with arguments."""

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
def noted(notes: Path) -> Callable[[str], object]:
    """Wait until the server has left a line of this beginning behind."""

    async def wait(beginning: str) -> str:
        async with asyncio.timeout(20):
            while True:
                lines = notes.read_text().splitlines() if notes.exists() else []
                for line in lines:
                    if line.startswith(beginning):
                        return line
                await asyncio.sleep(0.01)  # the server is another process

    return wait
