"""Findings of `parley check` about MCP servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from gateway.app.findings import PROBE_SECONDS, Finding
from gateway.app.places import has_program
from gateway.base.describe import describe
from gateway.config.mcp import McpServer
from gateway.config.root import Config
from gateway.factory.servers import servers_by_pin
from gateway.values import value
from teams.tools import ToolSchema
from teams.tools.mcp import McpWorkbench

NO_PROGRAM = "there is no program {command!r}; install it, or give its path in command"


def missing_programs(config: Config) -> Iterator[Finding]:
    """Tool servers whose program is not on this machine."""
    for pin, server in servers_by_pin(config):
        if server.command and not has_program(server):
            text = NO_PROGRAM.format(command=server.command)
            yield Finding(kind="server", name=server_of(pin), good=False, text=text)


def server_of(pin: str) -> str:
    """The name of a server that is kept as `pin`."""
    return pin.rpartition("/")[2]


@value
class ListedServer:
    """A server with its tools, kept as `pin`, or its problem."""

    pin: str
    pinned: bool
    tools: Sequence[ToolSchema] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        """The server's name in the policy."""
        return server_of(self.pin)


def findings_of(servers: Sequence[ListedServer]) -> Iterator[Finding]:
    """The number of each server's tools, or what is wrong with it."""
    for each in servers:
        text = each.problem or f"{len(each.tools)} tools"
        yield Finding(kind="server", name=each.name, good=not each.problem, text=text)


async def list_servers(config: Config) -> list[ListedServer]:
    """Ask each server for its tools; programs are started for it."""
    async with asyncio.TaskGroup() as group:
        probes = [
            group.create_task(_list(pin, server), name=f"probe {pin}")
            for pin, server in servers_by_pin(config)
            if server.url or has_program(server)
        ]
    return [probe.result() for probe in probes]


async def _list(pin: str, server: McpServer) -> ListedServer:
    workbench = McpWorkbench(server.params(), prompts=server.prompts, resources=server.resources)
    try:
        async with asyncio.timeout(PROBE_SECONDS), workbench:
            tools = await workbench.list_tools()
    except TimeoutError:
        problem = f"no answer within {PROBE_SECONDS:.0f} seconds"
        return ListedServer(pin=pin, pinned=server.pinned, problem=problem)
    except Exception as error:  # SDK and server may raise anything
        return ListedServer(pin=pin, pinned=server.pinned, problem=describe(error))
    return ListedServer(pin=pin, pinned=server.pinned, tools=tools)
