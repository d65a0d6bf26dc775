"""Tools of Model Context Protocol servers; they need the extra `mcp`."""

from typing import TYPE_CHECKING

from teams._base.lazy_exports import refuse_absent
from teams.tools.mcp._actor import McpSessionActor
from teams.tools.mcp._adapters import (
    SseMcpToolAdapter,
    StdioMcpToolAdapter,
    StreamableHttpMcpToolAdapter,
    mcp_server_tools,
)
from teams.tools.mcp._connection import McpError, create_mcp_server_session
from teams.tools.mcp._elicitors import RunElicitor, StdioElicitor, StreamElicitor
from teams.tools.mcp._host import (
    Elicitor,
    McpSessionHost,
    RootsProvider,
    Sampler,
    StaticRootsProvider,
)
from teams.tools.mcp._params import (
    McpServerParams,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)
from teams.tools.mcp._sampling import ChatCompletionClientSampler
from teams.tools.mcp._workbench import McpWorkbench

__all__ = [
    "ChatCompletionClientSampler",
    "Elicitor",
    "McpError",
    "McpServerParams",
    "McpSessionActor",
    "McpSessionHost",
    "McpWorkbench",
    "RootsProvider",
    "RunElicitor",
    "Sampler",
    "SseMcpToolAdapter",
    "SseServerParams",
    "StaticRootsProvider",
    "StdioElicitor",
    "StdioMcpToolAdapter",
    "StdioServerParams",
    "StreamElicitor",
    "StreamableHttpMcpToolAdapter",
    "StreamableHttpServerParams",
    "create_mcp_server_session",
    "mcp_server_tools",
]

if not TYPE_CHECKING:
    __getattr__ = refuse_absent(__name__)
