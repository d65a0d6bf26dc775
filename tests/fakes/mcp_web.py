"""Servers made with the protocol's library, either generation, behind a loopback address.

One speaks streamable HTTP, with a store of events for clients that come back, one server-sent
events. They ask their clients for a person, a model and folders.
"""

import asyncio
import importlib.util
import socket
import threading
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import uvicorn
from mcp import types
from mcp.server.streamable_http import EventMessage, EventStore
from pydantic import BaseModel

FIRST = importlib.util.find_spec("mcp.server.mcpserver") is None
library: Any = importlib.import_module("mcp.server.fastmcp" if FIRST else "mcp.server.mcpserver")
if TYPE_CHECKING:
    from typing import Any as Context
else:
    Context = library.Context


class Shirt(BaseModel):
    size: str


class KeptEvents(EventStore):
    """Events in memory, for streams that are taken up again."""

    def __init__(self) -> None:
        self._events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        place = int(last_event_id)
        stream, _ = self._events[place - 1]
        for number, (of, message) in enumerate(self._events[place:], start=place + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


@dataclass
class WebServer:
    """A server. `notes` are the calls it took."""

    url: str = ""
    notes: list[str] = field(default_factory=list[str])
    sessions: list[str] = field(default_factory=list[str])
    """The methods of HTTP requests, each with the session they named."""


def _first(notes: list[str]) -> Any:
    server = library.FastMCP("web", event_store=KeptEvents(), retry_interval=0)
    text = types.TextContent

    @server.tool()
    async def order(ctx: Context) -> str:
        """Order a shirt."""
        found = await ctx.elicit("Which shirt?", Shirt)
        return f"{found.action} {getattr(found, 'data', None)}"

    @server.tool()
    async def think(ctx: Context) -> str:
        """Ask a model."""
        asked = types.SamplingMessage(role="user", content=text(type="text", text="Well?"))
        found = await ctx.session.create_message([asked], max_tokens=50)
        return str(getattr(found.content, "text", ""))

    @server.tool()
    async def where(ctx: Context) -> str:
        """List the folders."""
        return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)

    _common(server, notes)
    return server


def _second(notes: list[str]) -> Any:
    server = library.MCPServer("web")
    Elicit, Sample, ListRoots = library.Elicit, library.Sample, library.ListRoots
    Resolve = library.Resolve

    async def shirt() -> Elicit[Shirt]:  # pyright: ignore[reportInvalidTypeForm]
        return Elicit("Which shirt?", Shirt)

    async def opinion() -> Sample:  # pyright: ignore[reportInvalidTypeForm]
        content = types.TextContent(type="text", text="Well?")
        return Sample([types.SamplingMessage(role="user", content=content)], max_tokens=50)

    async def folders() -> ListRoots:  # pyright: ignore[reportInvalidTypeForm]
        return ListRoots()

    @server.tool()
    async def order(found: Annotated[Any, Resolve(shirt)]) -> str:
        """Order a shirt."""
        return f"accept {found}"

    @server.tool()
    async def think(found: Annotated[types.CreateMessageResult, Resolve(opinion)]) -> str:
        """Ask a model."""
        return str(getattr(found.content, "text", ""))

    @server.tool()
    async def where(found: Annotated[types.ListRootsResult, Resolve(folders)]) -> str:
        """List the folders."""
        return ", ".join(str(root.uri) for root in found.roots)

    _common(server, notes)
    return server


def _common(server: Any, notes: list[str]) -> None:
    @server.tool()
    async def leave(ctx: Context) -> str:
        """Close the answer's stream before there is an answer."""
        notes.append("leave")
        await ctx.close_sse_stream()
        return "back again"

    @server.tool()
    async def wait() -> str:
        """Wait for ever."""
        notes.append("waiting")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            notes.append("cancelled")
            raise
        return "never"

    @server.resource("note://1")
    def note() -> str:
        """A note."""
        return "the note"

    @server.prompt()
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Greet {name}."


@contextmanager
def served(
    transport: Literal["http", "sse"] = "http", *, port: int = 0, old: bool = False
) -> Generator[WebServer]:
    """A server until the end of the context, in a thread.

    One that is `old` speaks the protocol as it was before 2026, with sessions.
    """
    web = WebServer()
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", port)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        web.url = f"{address}/{'sse' if transport == 'sse' else 'mcp'}"
        work = _serve(web, transport, listening, ended, old=old)
        thread = threading.Thread(target=asyncio.run, args=(work,), daemon=True)
        thread.start()
        try:
            yield web
        finally:
            ended.set()
            thread.join()


async def _serve(
    web: WebServer, transport: str, listening: socket.socket, ended: threading.Event, *, old: bool
) -> None:
    server = _first(web.notes) if FIRST else _second(web.notes)
    if transport == "sse":
        inner = server.sse_app()
    elif FIRST:
        inner = server.streamable_http_app()
    else:
        inner = server.streamable_http_app(event_store=KeptEvents(), retry_interval=0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        session = headers.get(b"mcp-session-id", b"").decode()
        web.sessions.append(f"{scope['method']} {session}")
        if old and headers.get(b"mcp-method") == b"server/discover":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body"})
            return
        await inner(scope, receive, send)

    config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none")
    running = uvicorn.Server(config)
    async with AsyncExitStack() as stack:
        if transport == "http":
            await stack.enter_async_context(server.session_manager.run())
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(running.serve([listening]))
        await asyncio.to_thread(ended.wait)
        running.should_exit = running.force_exit = True  # streams stay open for ever
