"""MCP servers of a config, by the keys of their kept tools."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.config.mcp import McpConfig, McpServer
from gateway.config.nesting import groups_inside, servers_of
from gateway.config.root import Config


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
