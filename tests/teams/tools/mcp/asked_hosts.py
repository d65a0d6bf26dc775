"""Servers that ask, and the host that answers."""

from __future__ import annotations

import io
from typing import Any

from teams.tools.mcp import McpWorkbench, StreamElicitor


async def called(bench: McpWorkbench, name: str, **arguments: Any) -> tuple[str, bool]:
    async with bench:
        result = await bench.call_tool(name, arguments)
    return result.to_text(), result.is_error


def typed(*lines: str) -> tuple[StreamElicitor, io.StringIO]:
    shown = io.StringIO()
    return StreamElicitor(io.StringIO("".join(f"{line}\n" for line in lines)), shown), shown
