"""A session by the names of AutoGen's actor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, assert_never

from pydantic import BaseModel

from teams._components.component import Component, ComponentBase, ComponentModel
from teams.models._client import ChatCompletionClient
from teams.tools.mcp._connection import Connection
from teams.tools.mcp._params import McpServerParams
from teams.tools.mcp._sdk import Peer
from teams.tools.mcp._workbench import host_of

if TYPE_CHECKING:
    from mcp.types import InitializeResult

Action = Literal[
    "list_tools",
    "call_tool",
    "list_prompts",
    "get_prompt",
    "list_resources",
    "list_resource_templates",
    "read_resource",
]


class McpSessionActorConfig(BaseModel, defer_build=True):
    """The server, and the model for its requests."""

    server_params: McpServerParams
    model_client: Annotated[ComponentModel, ChatCompletionClient] | None = None


class McpSessionActor(ComponentBase[BaseModel], Component[McpSessionActorConfig]):
    """One session with a server, open from `initialize` to `close`."""

    component_type = "mcp_session_actor"
    component_config_schema = McpSessionActorConfig
    component_provider_override: ClassVar[str | None] = "teams.tools.mcp.McpSessionActor"

    def __init__(
        self, server_params: McpServerParams, model_client: ChatCompletionClient | None = None
    ) -> None:
        self._server_params = server_params
        self._model_client = model_client
        self._connection = Connection(server_params, host_of(model_client))

    @property
    def server_params(self) -> McpServerParams:
        """The parameters to reach the server."""
        return self._server_params

    @property
    def initialize_result(self) -> InitializeResult | None:
        """The server's abilities and version; None while there is no session."""
        return self._connection.peer.initialize_result if self._connection.is_open else None

    async def initialize(self) -> None:
        """Open the session. Raises McpError."""
        await self._connection.start()

    async def call(self, type: Action, args: Mapping[str, Any] | None = None) -> asyncio.Task[Any]:
        """A task with the server's answer in the library's types."""
        asking = self._answer(type, dict(args or {}))
        return asyncio.get_running_loop().create_task(asking, name=f"mcp {type}")

    async def close(self) -> None:
        """Close the session."""
        await self._connection.stop()

    async def _answer(self, action: Action, args: dict[str, Any]) -> Any:
        connection = self._connection
        match action:
            case "list_tools":
                return await connection.all("tools")
            case "list_prompts":
                return await connection.all("prompts")
            case "list_resources":
                return await connection.all("resources")
            case "list_resource_templates":
                return await connection.all("resource_templates")
            case "call_tool" | "get_prompt" | "read_resource":
                return await connection.request(_request(action, args))
            case _:
                assert_never(action)


def _request(
    action: Literal["call_tool", "get_prompt", "read_resource"], args: dict[str, Any]
) -> Callable[[Peer], Awaitable[Any]]:
    match action:
        case "call_tool":
            return lambda peer: peer.call_tool(args["name"], args.get("arguments") or {})
        case "get_prompt":
            return lambda peer: peer.get_prompt(args["name"], args.get("arguments"))
        case "read_resource":
            return lambda peer: peer.read_resource(args["uri"])
