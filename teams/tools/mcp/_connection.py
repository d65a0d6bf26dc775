"""A connection to a server, opened and closed by its own task.

The protocol's library ties a connection to the task that opened it, while tools are called, and
cancelled, by many.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from teams.code_executors._output import BoundedOutput
from teams.tools.mcp._host import McpSessionHost
from teams.tools.mcp._params import McpServerParams, StdioServerParams
from teams.tools.mcp._sdk import (
    CLOSED,
    CONNECTION_CLOSED,
    Callback,
    Callbacks,
    EndlessList,
    Listed,
    Peer,
    error_of,
    is_forgotten,
    open_peer,
    require_mcp,
)
from teams.tools.mcp._server_requests import OpenCall, ServerRequests

if TYPE_CHECKING:
    from mcp import ClientSession

CONNECT = 30.0
"""Seconds within which a server must be ready, however short its answers' limit is."""
CLOSE = 5.0
"""Seconds that a server may take to end."""
CANCEL = 0.5
"""Seconds in which a server is told that nobody waits any more."""
COMPLAINT = 2000
"""Characters of what a server wrote to standard error that an error repeats."""
SERVER = "mcp"
"""Name of a server that nobody named."""

T = TypeVar("T")


class McpError(RuntimeError):
    """A server could not be reached, has ended, or took too long."""


class Connection:
    """A connection, open from `start` to `stop` or the server's end.

    `host` answers the server's own requests, and `sampling_callback`, as the library has it, those
    for a model.
    """

    def __init__(
        self,
        params: McpServerParams,
        host: McpSessionHost | None = None,
        *,
        name: str = SERVER,
        sampling_callback: Callback | None = None,
    ) -> None:
        require_mcp()
        self._params = params
        self._requests = ServerRequests(name, host)
        own = self._requests.callbacks()
        self._callbacks = Callbacks(
            sampling=sampling_callback or own.sampling, elicitation=own.elicitation, roots=own.roots
        )
        self._task: asyncio.Task[None] | None = None
        self._peer: Peer | None = None
        self._closing = asyncio.Event()
        self._complaints = BoundedOutput()
        self._starting = asyncio.Lock()

    @property
    def peer(self) -> Peer:
        """The open session; McpError while the connection is not open."""
        if self._peer is None:
            raise McpError(f"There is no connection to {name_of(self._params)}.")
        return self._peer

    @property
    def is_open(self) -> bool:
        """True while the server can be asked."""
        return self._peer is not None

    async def request(self, ask: Callable[[Peer], Awaitable[T]]) -> T:
        """The server's answer; connects first if necessary.

        Raises McpError, also where the server ends meanwhile: the next request starts it anew.
        """
        await self.start()
        peer = self.peer
        try:
            return await self._bounded(ask)
        except Exception as error:
            if is_forgotten(error):  # nothing was done: a session like it serves as well
                await self._drop(peer)
                await self.start()
                return await self._bounded(ask)
            match error_of(error):
                case (code, text) if code == CONNECTION_CLOSED:
                    if text == CLOSED:  # else one answer's stream broke, and the session goes on
                        await self._drop(peer)
                        raise self._failure("has ended") from error
                    raise self._failure(f"gave no answer: {text}") from error
                case _:
                    raise

    async def _drop(self, peer: Peer) -> None:
        """Close the connection, unless somebody has made it anew."""
        if self._peer is peer:
            await self.stop()

    async def _bounded(self, ask: Callable[[Peer], Awaitable[T]]) -> T:
        """An answer within its time, during which the connection holds."""
        peer, holder = self.peer, self._task
        assert holder is not None
        call = OpenCall(read_timeout(self._params))
        asking = asyncio.get_running_loop().create_task(_awaited(ask, peer))
        try:
            with self._requests.open(call):
                async with call.limit:
                    await asyncio.wait([asking, holder], return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as error:
            raise McpError(
                f"The MCP server {name_of(self._params)} did not answer within {call.seconds:g} s."
            ) from error
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait([asking], timeout=CANCEL)
        if asking.cancelled():
            raise self._failure("has ended")
        return asking.result()

    async def all(self, what: Listed) -> Any:
        """The whole of a list, as one page.

        Raises McpError for one without end.
        """
        try:
            return await self.request(lambda peer: peer.all(what))
        except EndlessList as error:
            raise McpError(str(error)) from error

    async def start(self) -> None:
        """Connect, if not connected; McpError with the server's last output."""
        async with self._starting:
            if self._peer is None:
                await self._open()

    async def _open(self) -> None:
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
        task = self._task
        if task is None:
            return
        self._closing.set()
        done, _ = await asyncio.wait([task], timeout=CLOSE)
        if not done:
            task.cancel()
            await asyncio.wait([task], timeout=CLOSE)
        if self._task is task:  # else it was started anew meanwhile
            self._task = None

    async def _hold_open(self, opened: asyncio.Future[None]) -> None:
        peer: Peer | None = None
        try:
            async with AsyncExitStack() as stack:
                self._complaints = BoundedOutput()
                try:
                    peer = await open_peer(stack, self._params, self._callbacks, self._complaints)
                except Exception as error:
                    self._refuse(opened, error)
                    return
                self._peer = peer
                opened.set_result(None)
                await self._closing.wait()
        except Exception as error:
            # If it broke while it was open or being closed, whoever calls next connects.
            self._refuse(opened, error)
        finally:
            if self._peer is peer:
                self._peer = None

    def _refuse(self, opened: asyncio.Future[None], error: Exception) -> None:
        """Tell whoever waits for the connection why there is none."""
        if not opened.done():
            failure = self._failure(f"could not be reached: {_first_error(error)}")
            failure.__cause__ = error
            opened.set_exception(failure)

    def _failure(self, what: str) -> McpError:
        text = f"The MCP server {name_of(self._params)} {what}."
        if said := self._complaints.text().strip()[-COMPLAINT:]:
            text += f" It wrote: {said}"
        return McpError(text)


async def _awaited(ask: Callable[[Peer], Awaitable[T]], peer: Peer) -> T:
    return await ask(peer)


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
async def create_mcp_server_session(
    server_params: McpServerParams, sampling_callback: Callback | None = None
) -> AsyncGenerator[ClientSession]:
    """A context with a session that is ready for requests. Raises McpError.

    `sampling_callback` answers the server's requests for a model, as the `mcp` package has it.
    """
    connection = Connection(server_params, sampling_callback=sampling_callback)
    await connection.start()
    try:
        yield connection.peer.session
    finally:
        await connection.stop()
