"""Findings of `parley check` about tools that have changed, and their acceptance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.app.findings import Finding
from gateway.app.operator import number, writing
from gateway.app.servers import ListedServer, server_of
from gateway.app.stores import AnyStore
from gateway.base.suggest import did_you_mean
from gateway.content.diffs import tool_diff
from gateway.content.tool_texts import met_tool
from gateway.control.socket_client import SocketClient
from gateway.errors import NotFound
from gateway.store.records import KnownTool, MetTool
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import known_texts

CHANGED = (
    "warning: it is not the tool that was accepted: approvals for threads have ended, and `allow` "
    "asks; `parley check --accept-tools {server}` accepts it"
)


async def stored_tools(store: AnyStore) -> list[KnownTool]:
    """The known tools; none of a store that needs an upgrade first."""
    if isinstance(store, SqliteStore) and not await store.is_current():
        return []
    return await store.run(known_texts.known_tools)


def met_tools(known: Sequence[KnownTool], servers: Iterable[ListedServer]) -> list[MetTool]:
    """All tools as their servers list them, or as last met."""
    met = [
        met_tool(server.pin, schema["name"], schema)
        for server in servers
        if server.pinned
        for schema in server.tools
    ]
    listed = {(each.server, each.tool) for each in met}
    return [*met, *(_last(each) for each in known if (each.server, each.tool) not in listed)]


def _last(known: KnownTool) -> MetTool:
    digest, text = known.others[-1] if known.others else (known.digest, known.text)
    return MetTool(server=known.server, tool=known.tool, digest=digest, text=text)


async def check_known_tools(known: Sequence[KnownTool], met: Sequence[MetTool]) -> list[Finding]:
    """A warning for each tool that is not what was accepted."""
    accepted = {(each.server, each.tool): each for each in known}
    findings: list[Finding] = []
    for now in met:
        was = accepted.get((now.server, now.tool))
        if was is None or was.digest == now.digest:
            continue
        diff = await tool_diff(was.text, now.text)
        text = CHANGED.format(server=server_of(now.server))
        shown = diff.lines or now.text  # a card says that it is shown here
        findings.append(
            Finding(kind="tool", name=now.full_name, good=True, text=text, details=shown)
        )
    return findings


async def _accepted(owner: SocketClient | AnyStore, met: MetTool) -> bool:
    if isinstance(owner, SocketClient):
        return await owner.accept_tool(met)
    return await owner.run(known_texts.accept_tool, met)


async def accept_tools(store: AnyStore, server: str, met: Sequence[MetTool]) -> Finding:
    """Accept a server's present tools. Raises NotFound for an unknown server."""
    wanted = [each for each in met if server_of(each.server) == server]
    if not wanted:
        names = sorted({server_of(each.server) for each in met})
        hint = did_you_mean(server, names) or f"known are {', '.join(names) or 'none'}"
        raise NotFound(f"No tool of a server {server!r} is known; {hint}.")
    async with writing(store) as owner:
        accepted = [each.tool for each in wanted if await _accepted(owner, each)]
    text = f"{number(len(wanted), 'tool')}; changed and accepted: {', '.join(accepted) or 'none'}"
    return Finding(kind="tool", name=server, good=True, text=text)
