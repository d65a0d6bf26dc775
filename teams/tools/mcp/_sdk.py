"""Both generations of the protocol's library behind one interface.

`mcp` 2 has a client over the session, snake_case fields and requests that a server's answer may
carry; `mcp` 1 has none of them. Everything else here reads and writes the wire's own names.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, cast

from pydantic import AnyUrl, BaseModel

from teams._base.bounded.clients import http_client
from teams._base.bounded.gate import Bounds
from teams._base.extras import require_packages
from teams.code_executors._output import BoundedOutput
from teams.tools.mcp._params import (
    McpServerParams,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)
from teams.tools.mcp._stdio import stdio_streams

Listed = Literal["tools", "prompts", "resources", "resource_templates"]
Callback = Callable[[Any, Any], Awaitable[Any]]

CONNECTION_CLOSED = -32000
INVALID_REQUEST = -32600
CLOSED = "Connection closed"
"""The libraries' words where nothing more can be asked over a connection."""
SESSION_TERMINATED = "Session terminated"
"""The libraries' words where a server has forgotten the session."""
MOST_PAGES = 100
"""Pages of a list that are read."""
CANCEL_SECONDS = 0.3
"""Seconds for telling a server that a request is cancelled."""


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Functions that answer a server's own requests.

    A server is not told of what is None.
    """

    sampling: Callback | None = None
    elicitation: Callback | None = None
    roots: Callable[[Any], Awaitable[Any]] | None = None


def require_mcp() -> None:
    """Raise ImportError where the `mcp` package is missing."""
    require_packages("Tools of MCP servers need", "mcp", "mcp")


@cache
def _has_client() -> bool:
    import mcp  # here and below: an optional package, and slow to import

    return hasattr(mcp, "Client")


def wire(message: BaseModel) -> dict[str, Any]:
    """A message of the protocol with the wire's names."""
    return message.model_dump(by_alias=True, mode="json", exclude_none=True)


def message(name: str, fields: Mapping[str, Any]) -> Any:
    """A message of the protocol from the wire's names."""
    from mcp import types

    return getattr(types, name).model_validate(dict(fields))


def refusal(text: str) -> Any:
    """The answer to a request of a server that gets none."""
    return message("ErrorData", {"code": INVALID_REQUEST, "message": text})


def error_of(error: BaseException) -> tuple[int, str] | None:
    """Code and text of a server's error; None for another."""
    data = getattr(error, "error", None)
    code, text = getattr(data, "code", None), getattr(data, "message", None)
    return (code, text) if isinstance(code, int) and isinstance(text, str) else None


def is_forgotten(error: BaseException) -> bool:
    """True if the server knows no such session."""
    found = error_of(error)
    # `mcp` 1 writes the code without its sign.
    return found is not None and (abs(found[0]), found[1]) == (-INVALID_REQUEST, SESSION_TERMINATED)


class EndlessList(Exception):
    """A server's list has more pages than anybody reads."""


def _spelt(page: BaseModel, name: str) -> str:
    """The field's name in the library's spelling."""
    first, *rest = name.split("_")
    return name if name in type(page).model_fields else first + "".join(map(str.title, rest))


class Peer:
    """A server at the other end of an open session."""

    def __init__(self, session: Any, client: Any = None, initialized: Any = None) -> None:
        self.session = session
        self._client = client
        self.initialize_result = initialized
        """The server's answer to the handshake."""

    async def all(self, what: Listed) -> Any:
        """The whole of a list, as one page. Raises EndlessList."""
        from mcp.types import PaginatedRequestParams

        ask = getattr(self.session, f"list_{what}")
        found: list[Any] = []
        params: PaginatedRequestParams | None = None
        for _ in range(MOST_PAGES):
            page = await self._cancellable(partial(ask, params=params))
            field = _spelt(page, what)
            found += getattr(page, field)
            cursor = getattr(page, _spelt(page, "next_cursor"))
            if not cursor:
                return page.model_copy(update={field: found})
            params = PaginatedRequestParams(cursor=cursor)
        raise EndlessList(f"The MCP server's list of {what.replace('_', ' ')} has no end.")

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """The answer to a call; a server is told of its cancellation."""
        to = self._client or self.session
        return await self._cancellable(lambda: to.call_tool(name, arguments))

    async def read_resource(self, uri: str) -> Any:
        """The contents of a resource."""
        to = self._client or self.session
        address: Any = uri if _has_client() else AnyUrl(uri)
        return await self._cancellable(lambda: to.read_resource(address))

    async def get_prompt(self, name: str, arguments: dict[str, str] | None) -> Any:
        """A prompt with these arguments."""
        to = self._client or self.session
        return await self._cancellable(lambda: to.get_prompt(name, arguments))

    async def _cancellable(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        if _has_client():
            return await ask()  # it tells the server itself
        # `mcp` 1 tells neither the server nor us: the request gets the next number.
        number: int = self.session._request_id
        try:
            return await ask()
        except asyncio.CancelledError:
            await self._tell_cancelled(number)
            raise

    async def _tell_cancelled(self, number: int) -> None:
        from mcp import types  # an optional package

        fields = {"requestId": number, "reason": "nobody waits for the answer"}
        note = {"method": "notifications/cancelled", "params": fields}
        with suppress(Exception):
            async with asyncio.timeout(CANCEL_SECONDS):
                kind: Any = types.ClientNotification
                await self.session.send_notification(kind.model_validate(note))


async def open_peer(
    stack: AsyncExitStack, params: McpServerParams, callbacks: Callbacks, complaints: BoundedOutput
) -> Peer:
    """The server, connected until the stack is closed."""
    if not _has_client():
        return await _open_first(stack, params, callbacks, complaints)
    from mcp import Client

    client = Client(
        await _transport(stack, params, complaints),
        sampling_callback=cast("Any", callbacks.sampling),
        elicitation_callback=cast("Any", callbacks.elicitation),
        list_roots_callback=cast("Any", callbacks.roots),
    )
    opened = await stack.enter_async_context(client)
    initialized = opened.session.initialize_result or _greeting(opened)
    return Peer(opened.session, opened, initialized)


def _greeting(client: Any) -> Any:
    """The handshake's result for a server that needs none."""
    info = client.server_info
    return message(
        "InitializeResult",
        {
            "protocolVersion": client.protocol_version,
            "capabilities": wire(client.server_capabilities),
            "serverInfo": wire(info) if info is not None else {"name": "", "version": ""},
            "instructions": client.instructions,
        },
    )


async def _open_first(
    stack: AsyncExitStack, params: McpServerParams, callbacks: Callbacks, complaints: BoundedOutput
) -> Peer:
    from mcp import ClientSession

    streams = await stack.enter_async_context(await _transport(stack, params, complaints))
    reading, writing, *_ = streams
    session: Any = ClientSession(
        reading,
        writing,
        sampling_callback=cast("Any", callbacks.sampling),
        elicitation_callback=cast("Any", callbacks.elicitation),
        list_roots_callback=cast("Any", callbacks.roots),
    )
    await stack.enter_async_context(session)
    return Peer(session, None, await session.initialize())


async def _transport(
    stack: AsyncExitStack, params: McpServerParams, complaints: BoundedOutput
) -> Any:
    match params:
        case StdioServerParams():
            return stdio_streams(params, complaints, _parsed, _dumped)
        case SseServerParams():
            from mcp.client.sse import sse_client

            timeouts = params.timeout, params.sse_read_timeout
            return sse_client(
                params.url, params.headers, *timeouts, httpx_client_factory=_http_client
            )
        case StreamableHttpServerParams():
            from mcp.client.streamable_http import streamable_http_client

            timeout = _http().Timeout(params.timeout, read=params.sse_read_timeout)
            client = _http_client(params.headers, timeout)
            return streamable_http_client(
                params.url,
                http_client=await stack.enter_async_context(client),
                terminate_on_close=params.terminate_on_close,
            )


@cache
def _http() -> Any:
    """The HTTP library below the protocol's."""
    return importlib.import_module("httpx2" if _has_client() else "httpx")


def _http_client(
    headers: Mapping[str, Any] | None = None, timeout: Any = None, auth: Any = None
) -> Any:
    """A client whose streams may last, and whose messages have bounds."""
    bounds = Bounds(stream=None, stream_seconds=None)
    return http_client(_http().AsyncClient, bounds, headers=headers, timeout=timeout, auth=auth)


def _parsed(line: str) -> Any:
    """The message in a line; for one that is none, its error."""
    from mcp.shared.message import SessionMessage

    try:
        if _has_client():
            adapter: Any = importlib.import_module("mcp_types").jsonrpc_message_adapter
            return SessionMessage(adapter.validate_json(line, by_name=False))
        from mcp import types

        kind: Any = types.JSONRPCMessage
        return SessionMessage(kind.model_validate_json(line))
    except ValueError as error:
        return error


def _dumped(said: Any) -> str:
    fields = {"exclude_unset": True} if _has_client() else {"exclude_none": True}
    return said.message.model_dump_json(by_alias=True, **fields)
