"""A connection to a server, opened and closed by its own task.

The protocol's library ties a connection to the task that opened it, while tools are called, and
cancelled, by many.
"""

from __future__ import annotations

import asyncio
import importlib.util
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from teams.tools.mcp._params import (
    McpServerParams,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)

if TYPE_CHECKING:
    from mcp import Client, ClientSession

CONNECT = 30.0
"""Seconds within which a server must be ready."""
CLOSE = 5.0
"""Seconds that a server may take to end."""
COMPLAINT = 2000
"""Characters of what a server wrote to standard error that an error repeats."""

T = TypeVar("T")


class McpError(RuntimeError):
    """A server could not be reached, or has ended."""


def require_mcp() -> None:
    """Raise ImportError where the `mcp` package is missing."""
    if importlib.util.find_spec("mcp") is None:
        raise ImportError(
            "Tools of MCP servers need the extra 'mcp': pip install 'parley-gateway[mcp]'."
        )


class Connection:
    """A connection, open from `start` to `stop` or the server's end."""

    def __init__(self, params: McpServerParams) -> None:
        require_mcp()
        self._params = params
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._closing = asyncio.Event()
        self._complaints: TextIO | None = None

    @property
    def session(self) -> ClientSession:
        """The session for requests; McpError while the connection is not open."""
        if self._client is None:
            raise McpError(f"There is no connection to {name_of(self._params)}.")
        return self._client.session

    async def request(self, ask: Callable[[ClientSession], Awaitable[T]]) -> T:
        """The server's answer; connects first if necessary.

        Raises McpError, also where the server ends meanwhile: the next request starts it anew.
        """
        from mcp import MCPError  # here and below: an optional package, and slow to import
        from mcp.types import CONNECTION_CLOSED

        await self.start()
        try:
            return await ask(self.session)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            await self.stop()
            raise self._failure("has ended") from error

    async def start(self) -> None:
        """Connect, if not connected; McpError with the server's last output."""
        if self._client is not None:
            return
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        # It has to outlive the task that happens to need the tools first; `stop` ends it.
        self._task = asyncio.get_running_loop().create_task(
            self._hold_open(opened), name="mcp server"
        )
        try:
            async with asyncio.timeout(CONNECT):
                await asyncio.shield(opened)
        except BaseException as error:
            opened.cancel()
            await self.stop()
            if isinstance(error, TimeoutError):
                raise self._failure("did not answer in time") from error
            raise

    async def stop(self) -> None:
        """Close the connection; the server has a few seconds to end."""
        task, self._task = self._task, None
        if task is None:
            return
        self._closing.set()
        done, _ = await asyncio.wait([task], timeout=CLOSE)
        if not done:
            task.cancel()
            await asyncio.wait([task], timeout=CLOSE)

    async def _hold_open(self, opened: asyncio.Future[None]) -> None:
        try:
            async with AsyncExitStack() as stack:
                complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (the stack closes it)
                self._complaints = stack.enter_context(complaints)
                try:
                    self._client = await self._connect(stack, self._complaints)
                except Exception as error:
                    failure = self._failure(f"could not be reached: {_first_error(error)}")
                    failure.__cause__ = error
                    if not opened.done():
                        opened.set_exception(failure)
                    return
                opened.set_result(None)
                await self._closing.wait()
        except Exception as error:
            # It broke while it was open or being closed: whoever calls next is told, and connects.
            if not opened.done():
                opened.set_exception(error)
        finally:
            self._client = None

    async def _connect(self, stack: AsyncExitStack, complaints: TextIO) -> Client:
        from mcp import Client

        client = Client(
            await self._transport(stack, complaints),
            read_timeout_seconds=read_timeout(self._params),
        )
        return await stack.enter_async_context(client)

    async def _transport(self, stack: AsyncExitStack, complaints: TextIO) -> Any:
        match self._params:
            case StdioServerParams() as params:
                from mcp import StdioServerParameters, stdio_client

                fields = params.model_dump(exclude={"type", "read_timeout_seconds"})
                return stdio_client(StdioServerParameters(**fields), errlog=complaints)
            case SseServerParams() as params:
                from mcp.client.sse import sse_client

                return sse_client(
                    params.url, params.headers, params.timeout, params.sse_read_timeout
                )
            case StreamableHttpServerParams() as params:
                import httpx2
                from mcp.client.streamable_http import streamable_http_client

                timeout = httpx2.Timeout(params.timeout, read=params.sse_read_timeout)
                client = httpx2.AsyncClient(headers=params.headers, timeout=timeout)
                return streamable_http_client(
                    params.url,
                    http_client=await stack.enter_async_context(client),
                    terminate_on_close=params.terminate_on_close,
                )

    def _failure(self, what: str) -> McpError:
        text = f"The MCP server {name_of(self._params)} {what}."
        with suppress(OSError, ValueError, AttributeError):
            complaints = cast("TextIO", self._complaints)
            complaints.seek(0)
            if said := complaints.read().strip()[-COMPLAINT:]:
                text += f" It wrote: {said}"
        return McpError(text)


def read_timeout(params: McpServerParams) -> float:
    """Seconds that an answer may take."""
    if isinstance(params, StdioServerParams):
        return params.read_timeout_seconds
    return params.sse_read_timeout


def name_of(params: McpServerParams) -> str:
    """The server's name for errors, without arguments, headers and queries."""
    if isinstance(params, StdioServerParams):
        return repr(params.command)
    address = params.url.partition("?")[0]
    scheme, _, rest = address.partition("://")
    return repr(f"{scheme}://{rest.rpartition('@')[2]}")


def _first_error(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}"


@asynccontextmanager
async def create_mcp_server_session(params: McpServerParams) -> AsyncGenerator[ClientSession]:
    """A context with a session that is ready for requests. Raises McpError."""
    connection = Connection(params)
    await connection.start()
    try:
        yield connection.session
    finally:
        await connection.stop()
