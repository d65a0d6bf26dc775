"""Parts of the components that AutoGen is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from teams.core import ComponentLoader

PARAMS: dict[str, dict[str, Any]] = {
    "Stdio": {"type": "StdioServerParams", "command": "server"},
    "Sse": {"type": "SseServerParams", "url": "http://localhost/sse"},
    "StreamableHttp": {"type": "StreamableHttpServerParams", "url": "http://localhost/mcp"},
}


class Weather(BaseModel):  # AutoGen loses a docstring
    city: str
    degrees: int


def mcp_adapters() -> dict[str, Callable[[], Any]]:
    """A tool of an MCP server for each way to reach one."""
    return {f"{kind} MCP tool": lambda kind=kind: _adapter(kind) for kind in PARAMS}


def _adapter(kind: str) -> Any:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    form = {
        "provider": f"teams.tools.mcp.{kind}McpToolAdapter",
        "config": {
            "server_params": PARAMS[kind],
            "tool": {"name": "echo", "description": "Say it.", "inputSchema": schema},
        },
    }
    return ComponentLoader.load_component(form, object)
