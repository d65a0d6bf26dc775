"""A workbench whose tools are those of a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.image import Image
from teams._components.component import Component
from teams._tools.base import ToolTraits
from teams._tools.schema import ParametersSchema, ToolSchema
from teams._tools.workbench import (
    ImageResultContent,
    ResultContent,
    TextResultContent,
    ToolOverride,
    ToolResult,
    Workbench,
    text_result,
)
from teams.tools.mcp._connection import Connection, McpError, read_timeout
from teams.tools.mcp._params import McpServerParams

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import CallToolResult, Tool

SERVER = "mcp"
"""Name of a server that nobody named."""

MOST_PAGES = 100
"""Pages of a list of tools that are read."""


class McpWorkbenchConfig(BaseModel, defer_build=True):
    """The server of a workbench."""

    server_params: McpServerParams
    tool_overrides: dict[str, ToolOverride] = {}


class McpWorkbenchState(BaseModel, defer_build=True):
    """Nothing: what a server remembers is its own."""

    type: Literal["McpWorkbenchState"] = "McpWorkbenchState"


class McpWorkbench(Workbench, Component[McpWorkbenchConfig]):
    """The tools of a server, listed anew at each request.

    The connection is made when it is first needed, and made anew where the server has ended.
    `tool_overrides` renames or redescribes tools, by their own names. What a server says of its
    tools (that one changes nothing, say) is not believed: nobody vouches for it. `name` is that of
    the server for those who judge its calls; a component file can't give one.

    Raises ImportError without the extra `mcp`, ValueError for two tools of one name.
    """

    component_config_schema = McpWorkbenchConfig

    def __init__(
        self,
        server_params: McpServerParams,
        tool_overrides: Mapping[str, ToolOverride] | None = None,
        *,
        name: str = SERVER,
    ) -> None:
        self._traits = ToolTraits(server=name)
        self._server_params = server_params
        self._tool_overrides = dict(tool_overrides or {})
        self._connection = Connection(server_params)
        self._own_names = {
            override.name: name for name, override in self._tool_overrides.items() if override.name
        }
        if len(self._own_names) < sum(bool(o.name) for o in self._tool_overrides.values()):
            raise ValueError("Two tools of the workbench have one name.")

    @property
    def server_params(self) -> McpServerParams:
        """The parameters to reach the server."""
        return self._server_params

    @override
    def tool_traits(self, name: str) -> ToolTraits:
        return self._traits

    @override
    async def list_tools(self) -> list[ToolSchema]:
        return [self._schema(tool) for tool in await self._connection.request(list_all_tools)]

    def _schema(self, tool: Tool) -> ToolSchema:
        override = self._tool_overrides.get(tool.name) or ToolOverride()
        schema = schema_of(tool)
        schema["name"] = override.name or schema["name"]
        if override.description is not None:
            schema["description"] = override.description
        return schema

    @override
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        wanted, bound = self._own_names.get(name, name), read_timeout(self._server_params)

        async def call(session: ClientSession) -> CallToolResult:
            return await session.call_tool(wanted, dict(arguments or {}), bound)

        token = cancellation_token or CancellationToken()
        try:
            answer = await run_cancellable(self._connection.request(call), token)
        except Exception as error:  # a result for the model, as with any tool
            return text_result(name, f"{type(error).__name__}: {error}", is_error=True)
        return result_of(name, answer)

    @override
    async def start(self) -> None:
        await self._connection.start()

    @override
    async def stop(self) -> None:
        await self._connection.stop()

    @override
    async def reset(self) -> None:
        await self._connection.stop()

    @override
    async def save_state(self) -> Mapping[str, Any]:
        return McpWorkbenchState().model_dump()

    @override
    async def load_state(self, state: Mapping[str, Any]) -> None:
        pass


async def list_all_tools(session: ClientSession) -> list[Tool]:
    """All tools of a server. Raises McpError for a list without end."""
    from mcp.types import PaginatedRequestParams  # an optional package

    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tools
    raise McpError("The MCP server's list of tools has no end.")


def schema_of(tool: Tool) -> ToolSchema:
    """The tool as models are told of it."""
    given = tool.input_schema
    parameters = ParametersSchema(type="object", properties=given.get("properties") or {})
    for key in ("required", "additionalProperties", "$defs"):
        if key in given:
            parameters[key] = given[key]  # type: ignore[literal-required]
    return ToolSchema(name=tool.name, description=tool.description or "", parameters=parameters)


def result_of(name: str, answer: CallToolResult) -> ToolResult:
    """The result of a server's answer; unknown content is JSON."""
    parts: list[ResultContent] = [_part(content) for content in answer.content]
    if not parts and answer.structured_content is not None:
        parts = [
            TextResultContent(content=json.dumps(answer.structured_content, ensure_ascii=False))
        ]
    return ToolResult(name=name, result=parts, is_error=bool(answer.is_error))


def _part(content: Any) -> ResultContent:
    match content.type:
        case "text":
            return TextResultContent(content=content.text)
        case "image":
            try:
                return ImageResultContent(content=Image.from_base64(content.data))
            except (ImportError, ValueError) as error:
                return TextResultContent(content=f"[an image that can't be shown: {error}]")
        case "resource" if getattr(content.resource, "text", None) is not None:
            return TextResultContent(content=content.resource.text)
        case _:
            return TextResultContent(content=content.model_dump_json(by_alias=True))
