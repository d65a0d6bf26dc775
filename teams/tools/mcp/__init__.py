"""Tools of Model Context Protocol servers; they need the extra `mcp`."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.tools.mcp._adapters import (
    SseMcpToolAdapter,
    StdioMcpToolAdapter,
    StreamableHttpMcpToolAdapter,
    mcp_server_tools,
)
from teams.tools.mcp._connection import create_mcp_server_session
from teams.tools.mcp._params import (
    McpServerParams,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)
from teams.tools.mcp._workbench import McpWorkbench

__all__ = [
    "McpServerParams",
    "McpWorkbench",
    "SseMcpToolAdapter",
    "SseServerParams",
    "StdioMcpToolAdapter",
    "StdioServerParams",
    "StreamableHttpMcpToolAdapter",
    "StreamableHttpServerParams",
    "create_mcp_server_session",
    "mcp_server_tools",
]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
