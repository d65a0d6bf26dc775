"""Servers of tools, and workbenches over them."""

from __future__ import annotations

import sys
from pathlib import Path

from teams.tools.mcp import StdioServerParams

ROOT = Path(__file__).resolve().parents[4]


def noted(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


def started_with(module: str, notes: Path) -> StdioServerParams:
    return StdioServerParams(
        command=sys.executable,
        args=["-m", module],
        cwd=str(ROOT),
        env={"NOTES": str(notes)},
        read_timeout_seconds=20,
    )
