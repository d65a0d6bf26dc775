"""Findings of `parley check` about MCP servers: their programs, and whether they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from gateway.app.findings import PROBE_SECONDS, Finding
from gateway.app.places import has_program
from gateway.base.describe import describe
from gateway.config.mcp import McpConfig, McpServer
from gateway.config.nesting import servers_of
from gateway.config.root import Config
from gateway.config.teams import GroupTeam
from gateway.factory.servers import server_params
from teams.tools.mcp import McpWorkbench

NO_PROGRAM = "there is no program {command!r}; install it, or give its path in command"


def missing_programs(config: Config) -> Iterator[Finding]:
    """Tool servers whose program is not on this machine."""
    for name, server in _servers(config):
        if server.command and not has_program(server):
            text = NO_PROGRAM.format(command=server.command)
            yield Finding(kind="server", name=name, good=False, text=text)


async def probe_servers(config: Config) -> list[Finding]:
    """Ask each server with a `url` for its tools."""
    async with asyncio.TaskGroup() as group:
        probes = [
            group.create_task(_probe(name, server), name=f"probe {name}")
            for name, server in _servers(config)
            if server.url
        ]
    return [probe.result() for probe in probes]


async def _probe(name: str, server: McpServer) -> Finding:
    workbench = McpWorkbench(server_params(server))
    try:
        async with asyncio.timeout(PROBE_SECONDS), workbench:
            tools = await workbench.list_tools()
    except TimeoutError:
        text = f"no answer within {PROBE_SECONDS:.0f} seconds"
        return Finding(kind="server", name=name, good=False, text=text)
    except Exception as error:  # SDK and server may raise anything
        return Finding(kind="server", name=name, good=False, text=describe(error))
    return Finding(kind="server", name=name, good=True, text=f"{len(tools)} tools")


def _servers(config: Config) -> Iterator[tuple[str, McpServer]]:
    """Those of [mcp], then those that agents have of their own."""
    yield from config.mcp.items()
    for team in config.teams.values():
        if isinstance(team, GroupTeam):
            yield from (
                (each.name, each) for each in servers_of(team) if isinstance(each, McpConfig)
            )
