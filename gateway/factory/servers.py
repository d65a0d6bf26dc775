"""MCP servers from config.toml, as workbenches of one agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from gateway.config.mcp import McpConfig, McpReference, McpServer, server_name
from gateway.config.nesting import groups_inside, servers_of
from gateway.config.root import Config
from gateway.factory.parts import ModelClients
from teams.tools import Workbench

if TYPE_CHECKING:
    from teams.tools.mcp import McpServerParams, McpSessionHost


class ServerFactory:
    """Maker of workbenches; `servers` are those of [mcp]."""

    def __init__(self, models: ModelClients, servers: Mapping[str, McpServer]) -> None:
        self._models = models
        self._servers = servers

    def workbench(self, entry: McpReference | McpConfig, model: str) -> Workbench:
        """Tools of a server for an agent with this model."""
        from teams.tools.mcp import McpWorkbench  # few need it

        server = self._servers[entry.server] if isinstance(entry, McpReference) else entry
        return McpWorkbench(
            server_params(server),
            host=self._host(server, model),
            name=server_name(entry),
            prompts=server.prompts,
            resources=server.resources,
        )

    def _host(self, server: McpServer, model: str) -> McpSessionHost | None:
        """Whoever answers the server's own requests; None for nobody."""
        from teams.tools.mcp import (  # few need it
            ChatCompletionClientSampler,
            McpSessionHost,
            RunElicitor,
            StaticRootsProvider,
        )

        if not (server.sampling or server.elicitation or server.roots):
            return None
        sampler: ChatCompletionClientSampler | None = None
        if server.sampling:
            named = server.sampling if isinstance(server.sampling, str) else model
            sampler = ChatCompletionClientSampler(self._models.client(named))
        return McpSessionHost(
            sampler,
            StaticRootsProvider(server.roots) if server.roots else None,
            RunElicitor() if server.elicitation else None,
        )


def pin_of(config: Config, team: str, server: str) -> tuple[str, bool]:
    """The key of a server's kept tools, and whether they are pinned.

    The servers of component files and of Python code are all named alike: each team has its own.
    """
    if (shared := config.mcp.get(server)) is not None:
        return server, shared.pinned
    pin = f"{team}/{server}"
    named = [own for name, own in servers_by_pin(config) if name == pin]
    return pin, not named or any(each.pinned for each in named)


def servers_by_pin(config: Config) -> Iterator[tuple[str, McpServer]]:
    """All servers of the config, by the keys of their tools."""
    yield from config.mcp.items()
    for name in config.teams:
        for _, team in groups_inside(name, config.teams):
            owned = (each for each in servers_of(team) if isinstance(each, McpConfig))
            yield from ((f"{name}/{each.name}", each) for each in owned)


def server_params(server: McpServer) -> McpServerParams:
    """The way to reach or start a server."""
    from teams.tools.mcp import (  # few need it
        SseServerParams,
        StdioServerParams,
        StreamableHttpServerParams,
    )

    if server.command:
        return StdioServerParams(
            command=server.command,
            args=server.args,
            env=_revealed(server.env),
            cwd=server.cwd,
            read_timeout_seconds=server.timeout,
        )
    kind = SseServerParams if server.transport == "sse" else StreamableHttpServerParams
    headers = _revealed(server.headers)
    return kind(url=server.url, headers=headers, sse_read_timeout=server.timeout)


def _revealed(secrets: Mapping[str, SecretStr]) -> dict[str, Any]:
    return {name: secret.get_secret_value() for name, secret in secrets.items()}
