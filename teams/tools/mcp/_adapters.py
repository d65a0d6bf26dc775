"""Tools of servers one by one, without a workbench."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._components.component import Component
from teams._components.json_schema import arguments_model
from teams._tools.base import BaseTool, ToolTraits
from teams._tools.schema import ToolSchema
from teams._tools.workbench import ToolResult
from teams.tools.mcp._connection import SERVER, Connection, read_timeout
from teams.tools.mcp._content import result_of
from teams.tools.mcp._params import (
    McpServerParams,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)
from teams.tools.mcp._sdk import Peer
from teams.tools.mcp._workbench import schema_of

if TYPE_CHECKING:
    from mcp import ClientSession, Tool

ParamsT = TypeVar("ParamsT", StdioServerParams, SseServerParams, StreamableHttpServerParams)
ConfigT = TypeVar("ConfigT")


class McpToolFailed(Exception):
    """A server's report of a failed call."""


class McpToolAdapterConfig(BaseModel, Generic[ConfigT], defer_build=True):
    """A tool of a server. `tool` is the server's description of it."""

    server_params: ConfigT
    tool: dict[str, Any]


class _McpToolAdapter(BaseTool[BaseModel, Any], Generic[ParamsT]):
    """A server's tool; each call connects unless a session is given."""

    traits = ToolTraits(server=SERVER)

    def __init__(
        self, server_params: ParamsT, tool: Tool, session: ClientSession | None = None
    ) -> None:
        self._server_params = server_params
        self._tool = tool
        self._session = session
        self._own_schema = schema_of(tool)
        parameters = self._own_schema.get("parameters") or {}
        arguments = arguments_model(dict(parameters), f"{tool.name}_arguments")
        super().__init__(arguments, object, tool.name, tool.description or "")

    @classmethod
    async def from_server_params(cls, server_params: ParamsT, tool_name: str) -> Self:
        """The tool of this name.

        Raises McpError, and ValueError where the server has no such tool.
        """
        tools = await _tools(server_params, None)
        for tool in tools:
            if tool.name == tool_name:
                return cls(server_params, tool)
        names = ", ".join(sorted(tool.name for tool in tools))
        raise ValueError(f"The server has no tool {tool_name!r}; it has: {names}.")

    @property
    @override
    def schema(self) -> ToolSchema:
        return self._own_schema

    @override
    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Any:
        """Run with valid arguments."""
        given = args.model_dump(mode="json", exclude_unset=True)
        return await self._call(given, cancellation_token)

    @override
    async def run_json(
        self,
        args: Mapping[str, Any],
        cancellation_token: CancellationToken,
        call_id: str | None = None,
    ) -> Any:
        """Run with the arguments unchecked: the server judges them."""
        result = await self._call(args, cancellation_token)
        self._log_call(args, result)
        return result

    async def _call(self, args: Mapping[str, Any], token: CancellationToken) -> ToolResult:
        async def call(peer: Peer) -> Any:
            return await peer.call_tool(self._tool.name, dict(args))

        asking = _asked(self._server_params, self._session, call)
        answer = await run_cancellable(asking, token)
        result = result_of(self._tool.name, answer)
        if result.is_error:
            raise McpToolFailed(result.to_text())
        return result

    @override
    def return_value_as_string(self, value: Any) -> str:
        return value.to_text() if isinstance(value, ToolResult) else str(value)

    def _to_config(self) -> BaseModel:
        tool = self._tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        return McpToolAdapterConfig[Any](server_params=self._server_params, tool=tool)

    @classmethod
    def _from_config(cls, config: Any) -> Self:
        from mcp import Tool  # an optional package

        return cls(config.server_params, Tool.model_validate(config.tool))


class StdioMcpToolAdapter(
    _McpToolAdapter[StdioServerParams], Component[McpToolAdapterConfig[StdioServerParams]]
):
    """A tool of a server that is started for each call."""

    component_config_schema = McpToolAdapterConfig[StdioServerParams]
    component_provider_override: ClassVar[str | None] = "teams.tools.mcp.StdioMcpToolAdapter"


class SseMcpToolAdapter(
    _McpToolAdapter[SseServerParams], Component[McpToolAdapterConfig[SseServerParams]]
):
    """A tool of a server behind an address of server-sent events."""

    component_config_schema = McpToolAdapterConfig[SseServerParams]
    component_provider_override: ClassVar[str | None] = "teams.tools.mcp.SseMcpToolAdapter"


class StreamableHttpMcpToolAdapter(
    _McpToolAdapter[StreamableHttpServerParams],
    Component[McpToolAdapterConfig[StreamableHttpServerParams]],
):
    """A tool of a server behind an HTTP address."""

    component_config_schema = McpToolAdapterConfig[StreamableHttpServerParams]
    component_provider_override: ClassVar[str | None] = (
        "teams.tools.mcp.StreamableHttpMcpToolAdapter"
    )


async def mcp_server_tools(
    server_params: McpServerParams, session: ClientSession | None = None
) -> list[StdioMcpToolAdapter | SseMcpToolAdapter | StreamableHttpMcpToolAdapter]:
    """All tools of a server, perhaps sharing `session`. Raises McpError."""
    tools = await _tools(server_params, session)
    match server_params:
        case StdioServerParams():
            return [StdioMcpToolAdapter(server_params, tool, session) for tool in tools]
        case SseServerParams():
            return [SseMcpToolAdapter(server_params, tool, session) for tool in tools]
        case StreamableHttpServerParams():
            return [StreamableHttpMcpToolAdapter(server_params, tool, session) for tool in tools]


async def _tools(server_params: McpServerParams, session: ClientSession | None) -> list[Tool]:
    page = await _asked(server_params, session, lambda peer: peer.all("tools"))
    return page.tools


async def _asked(
    server_params: McpServerParams,
    session: ClientSession | None,
    ask: Callable[[Peer], Awaitable[Any]],
) -> Any:
    """The server's answer, over a given session or one of its own."""
    if session is not None:
        async with asyncio.timeout(read_timeout(server_params)):
            return await ask(Peer(session))
    connection = Connection(server_params)
    try:
        return await connection.request(ask)
    finally:
        await connection.stop()
