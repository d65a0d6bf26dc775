"""A server that speaks MCP over its pipes: `python -m tests.fakes.mcp_server`.

It uses the protocol's official library, and keeps a note of each call in the file NOTES.
"""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

library: Any = import_module("mcp")
if hasattr(library, "Client"):
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
else:
    MCPServer = import_module("mcp.server.fastmcp").FastMCP
    ToolError = import_module("mcp.server.fastmcp.exceptions").ToolError

server = MCPServer("notes")


def note(text: str) -> None:
    """Leave a line behind."""
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{text}\n")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    note(f"add {a} {b}")
    return str(a + b)


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("it does not work")


@server.tool()
async def wait() -> str:
    """Wait for ever."""
    note("waiting")
    await asyncio.Event().wait()
    return "never"


@server.tool()
def end() -> str:
    """End the server."""
    os._exit(1)


if __name__ == "__main__":
    if "--broken" in sys.argv:
        sys.exit("this server needs a licence")
    server.run("stdio")
