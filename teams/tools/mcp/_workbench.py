"""A workbench whose tools are those of a server."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.whole_text import whole_texts
from teams._components.component import Component, ComponentModel
from teams._tools.base import ToolTraits
from teams._tools.schema import ParametersSchema, ToolSchema
from teams._tools.workbench import ToolOverride, ToolResult, Workbench, text_result
from teams.models._client import ChatCompletionClient
from teams.tools.mcp._catalog import catalog, look_up
from teams.tools.mcp._connection import SERVER, Connection
from teams.tools.mcp._content import result_of
from teams.tools.mcp._host import McpSessionHost
from teams.tools.mcp._params import McpServerParams
from teams.tools.mcp._sampling import ChatCompletionClientSampler
from teams.tools.mcp._sdk import Peer

if TYPE_CHECKING:
    from mcp.types import (
        GetPromptResult,
        InitializeResult,
        ListPromptsResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ReadResourceResult,
        Tool,
    )

T = TypeVar("T")


class McpWorkbenchConfig(BaseModel, defer_build=True):
    """The server of a workbench, and who answers its own requests."""

    server_params: McpServerParams
    tool_overrides: dict[str, ToolOverride] = {}
    model_client: Annotated[ComponentModel, ChatCompletionClient] | None = None
    host: Annotated[ComponentModel, McpSessionHost] | None = None


class McpWorkbenchState(BaseModel, defer_build=True):
    """Nothing: what a server remembers is its own."""

    type: Literal["McpWorkBenchState"] = "McpWorkBenchState"


class McpWorkbench(Workbench, Component[McpWorkbenchConfig]):
    """The tools of a server, listed anew at each request.

    The connection is made when it is first needed, and made anew where the server has ended.
    `tool_overrides` renames or redescribes tools, by their own names. What a server says of its
    tools (that one changes nothing, say) is not believed: nobody vouches for it. `name` is that of
    the server for those who judge its calls; a component file can't give one.

    `host` answers what the server asks its client in the midst of a call; `model_client` alone
    stands for a host with that model. With `prompts` or `resources`, these are tools, too.

    Raises ImportError without the extra `mcp`, ValueError for two tools of one name, and for a
    host beside a model client.
    """

    component_only_ours: ClassVar = {"host": ...}

    component_config_schema = McpWorkbenchConfig

    def __init__(
        self,
        server_params: McpServerParams,
        tool_overrides: Mapping[str, ToolOverride] | None = None,
        model_client: ChatCompletionClient | None = None,
        host: McpSessionHost | None = None,
        *,
        name: str = SERVER,
        prompts: bool = False,
        resources: bool = False,
    ) -> None:
        if model_client is not None and host is not None:
            raise ValueError("Give a model_client or a host, whose sampler has one.")
        self._traits = ToolTraits(server=name)
        self._server_params = server_params
        self._tool_overrides = dict(tool_overrides or {})
        self._model_client = model_client
        self._host = host
        self._catalog = catalog(prompts=prompts, resources=resources)
        answers = host_of(model_client) if host is None else host
        self._connection = Connection(server_params, answers, name=name)
        self._started = False
        self._own_names = {
            override.name: name for name, override in self._tool_overrides.items() if override.name
        }
        if len(self._own_names) < sum(bool(o.name) for o in self._tool_overrides.values()):
            raise ValueError("Two tools of the workbench have one name.")

    @property
    def server_params(self) -> McpServerParams:
        """The parameters to reach the server."""
        return self._server_params

    @property
    def initialize_result(self) -> InitializeResult | None:
        """The server's abilities and version; None while there is no connection."""
        return self._connection.peer.initialize_result if self._connection.is_open else None

    @override
    def tool_traits(self, name: str) -> ToolTraits:
        if name in self._catalog:
            return ToolTraits(server=self._traits.server, read_only=True, idempotent=True)
        return self._traits

    @override
    async def list_tools(self) -> list[ToolSchema]:
        page = await self._ask(lambda: self._connection.all("tools"))
        own = {schema["name"]: schema for schema in map(self._schema, reversed(page.tools))}
        first = list(own.values())[::-1]  # of two with one name
        return [*first, *(each for name, each in self._catalog.items() if name not in own)]

    async def list_prompts(self) -> ListPromptsResult:
        """All prompts of the server. Raises McpError, and the library's error."""
        return await self._ask(lambda: self._connection.all("prompts"))

    async def list_resources(self) -> ListResourcesResult:
        """All resources of the server. Raises McpError, and the library's error."""
        return await self._ask(lambda: self._connection.all("resources"))

    async def list_resource_templates(self) -> ListResourceTemplatesResult:
        """All templates of resources' addresses. Raises McpError, and the library's error."""
        return await self._ask(lambda: self._connection.all("resource_templates"))

    async def read_resource(self, uri: str) -> ReadResourceResult:
        """The contents of a resource. Raises McpError, and the library's error."""
        return await self._request(lambda peer: peer.read_resource(uri))

    async def get_prompt(
        self, name: str, arguments: dict[str, str] | None = None
    ) -> GetPromptResult:
        """A prompt with these arguments. Raises McpError, and the library's error."""
        return await self._request(lambda peer: peer.get_prompt(name, arguments))

    async def _request(self, ask: Callable[[Peer], Awaitable[T]]) -> T:
        return await self._ask(lambda: self._connection.request(ask))

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        self._started = True
        return await ask()

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
        token = cancellation_token or CancellationToken()
        try:
            return await run_cancellable(self._result(name, dict(arguments or {})), token)
        except Exception as error:  # a result for the model, as with any tool
            return text_result(name, f"{type(error).__name__}: {error}", is_error=True)

    async def _result(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        if name in self._catalog:
            return await look_up(self, name, arguments)
        wanted = self._own_names.get(name, name)
        answer = await self._request(lambda peer: peer.call_tool(wanted, arguments))
        return result_of(name, answer)

    @override
    async def start(self) -> None:
        if self._started and self._connection.is_open:
            warnings.warn("The McpWorkbench is started already.", UserWarning, stacklevel=2)
            return
        await self._ask(self._connection.start)

    @override
    async def stop(self) -> None:
        """Close the connection. Raises RuntimeError if nothing was started."""
        if not self._started:
            raise RuntimeError("The McpWorkbench is not started, so it can't be stopped.")
        await self.close()

    @override
    async def __aexit__(self, *_: object) -> None:
        await self.close()  # somebody may have stopped it in the block

    async def close(self) -> None:
        """Close the connection, if there is one."""
        self._started = False
        await self._connection.stop()

    @override
    async def reset(self) -> None:
        await self.close()

    @override
    async def save_state(self) -> Mapping[str, Any]:
        return McpWorkbenchState().model_dump()

    @override
    async def load_state(self, state: Mapping[str, Any]) -> None:
        pass


def host_of(model_client: ChatCompletionClient | None) -> McpSessionHost | None:
    """A host with this model, and nothing else."""
    if model_client is None:
        return None
    return McpSessionHost(ChatCompletionClientSampler(model_client))


def schema_of(tool: Tool) -> ToolSchema:
    """The tool as models are told of it."""
    given: dict[str, Any] = tool.model_dump(by_alias=True)["inputSchema"]
    parameters = ParametersSchema(type="object", properties=given.get("properties") or {})
    for key in ("required", "additionalProperties", "$defs"):
        if key in given:
            parameters[key] = given[key]  # type: ignore[literal-required]
    return whole_texts(
        ToolSchema(name=tool.name, description=tool.description or "", parameters=parameters)
    )
