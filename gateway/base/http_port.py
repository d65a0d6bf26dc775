"""HTTP ports of this process, safe against whoever can reach them.

A port keeps a few dozen connections open. Of more, those that are silent for a second are closed,
first those that never asked for anything: half-open ones keep nobody out. As many requests are
worked on at a time, and others wait for their turn. Head and body have seconds to arrive, and a
body stays as it was sent: nothing is unpacked here. No answer names a version, and no broken
request is worth a traceback.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from typing import TypeAlias, cast

from aiohttp import HttpVersion11, StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

LOG = logging.getLogger("gateway")

MOST = 48
"""Requests that are worked on, and connections that stay open without one."""
MOST_AT_ONCE = 4 * MOST
"""Connections of a port; of them, silent ones make room once what they have sent is read.

Two ports that are flooded leave a process most of the 1,024 files that are usual.
"""
PASSES = 4
"""Passes of the event loop from a connection's arrival until its request has been seen."""
GRACE = 1.0
"""Seconds for which each may be silent: on a busy machine, a head comes that late."""
MOST_BYTES = 1_000_000
"""Bytes of a body."""
HEAD_SECONDS = 5.0
BODY_SECONDS = 3.0
TURN_SECONDS = 3.0
"""Seconds for which a request waits for its turn: Slack waits no longer for an answer."""

HOST = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<name>[^:\[\]]+))(?::[0-9]*)?")
"""The header Host."""

Answer: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and the methods by which it is asked for."""

    answer: Answer
    methods: tuple[str, ...] = ("GET", "HEAD")


async def page_of(pages: Mapping[str, Page], request: web.BaseRequest) -> web.StreamResponse:
    """The answer of the page that is asked for."""
    if (page := pages.get(request.path)) is None:
        return web.Response(status=404, text="404: Not Found\n")
    if request.method not in page.methods:
        return web.Response(status=405, headers={"Allow": ", ".join(page.methods)})
    return await page.answer(request)


def is_own_host(host: str, names: Container[str]) -> bool:
    """True for an IP address, localhost, and these names in small letters.

    Other names may be another's that lead here, to read our answers in a page of theirs.
    """
    if (parsed := HOST.fullmatch(host)) is None:
        return False
    name = (parsed["name"] or "").lower().removesuffix(".")
    return name == "localhost" or name in names or _is_address(parsed["v6"] or name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@asynccontextmanager
async def serving(
    answer: Answer, host: str, port: int, *, shutdown: float = 2.0
) -> AsyncGenerator[tuple[str, int]]:
    """Serve `answer`; where. Raises OSError if the address can't be had.

    A request has its whole body, of a megabyte at most, when it gets there. Those that are being
    answered at the end have `shutdown` seconds.
    """
    runner = web.ServerRunner(_Port(answer), shutdown_timeout=shutdown)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound = runner.addresses[0]
        yield str(bound[0]), int(bound[1])
    finally:
        await runner.cleanup()


class _Port(web.Server):
    """The connections of a port."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(
            self._answered,
            request_factory=partial(_bounded, asyncio.get_running_loop()),  # its own can't be told
        )
        self._answer = answer
        self._open: dict[web.RequestHandler, _Connection] = {}
        self._places = asyncio.Semaphore(MOST)
        self._requests = 0
        """Those that are read, wait or are worked on, though their connection may be lost."""
        self._waits = False

    def __call__(self) -> _Connection:
        return _Connection(self)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Let it in; where there is no room, in another's place."""
        super().connection_made(handler, transport)
        self._open[handler] = cast("_Connection", handler)  # made above
        if len(self._open) > MOST_AT_ONCE:
            self._make_room(MOST_AT_ONCE)
        elif len(self._open) > MOST and not self._waits:
            self._waits = True
            asyncio.get_running_loop().call_later(GRACE, self._end_grace, PASSES)

    def _end_grace(self, passes: int) -> None:
        """Make room, when all that has arrived by now is read.

        On a busy machine the loop has not read it, however long ago it came.
        """
        loop = asyncio.get_running_loop()
        if passes:
            loop.call_soon(self._end_grace, passes - 1)
            return
        self._make_room(MOST, silent_for=GRACE)
        self._waits = len(self._open) > MOST
        if self._waits:
            loop.call_later(GRACE, self._end_grace, PASSES)

    def _make_room(self, most: int, *, silent_for: float = 0.0) -> None:
        """Close silent ones: those that never asked first, then the longest silent."""
        until = asyncio.get_running_loop().time() - silent_for
        idle = [each for each in self._open.values() if not each.is_answered]
        idle.sort(key=lambda each: each.has_asked)
        for each in idle[: max(0, len(self._open) - most)]:
            if each.silent_since <= until:
                del self._open[each]
                each.force_close()

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Make room for another."""
        self._open.pop(handler, None)
        super().connection_lost(handler, exc)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = cast("_Connection", request.protocol)  # of this port
        connection.has_head()
        if self._requests >= MOST_AT_ONCE:
            return _busy()
        self._requests += 1
        try:
            if (status := await _read(request)) is not None:
                return _unversioned(web.Response(status=status))
            connection.is_answered = True
            if connection in self._open:  # it is the newest again
                self._open[connection] = self._open.pop(connection)
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    await self._places.acquire()
            except TimeoutError:
                return _busy()
            try:
                if request.transport is None:  # nobody waits for it any more
                    return _busy()
                answer = await self._answer(request)
            finally:
                self._places.release()
            connection.has_asked |= answer.status < HTTPStatus.BAD_REQUEST
            return _unversioned(answer)
        finally:
            self._requests -= 1
            connection.has_ended()


def _bounded(
    loop: asyncio.AbstractEventLoop,
    message: RawRequestMessage,
    payload: StreamReader,
    connection: web.RequestHandler,
    writer: AbstractStreamWriter,
    task: asyncio.Task[None],
) -> web.BaseRequest:
    return web.BaseRequest(
        message, payload, connection, writer, task, loop, client_max_size=MOST_BYTES
    )


async def _read(request: web.BaseRequest) -> int | None:
    """Read the body; the status of a broken request."""
    if request.version >= HttpVersion11 and len(request.headers.getall("Host", [])) != 1:
        return 400
    try:
        async with asyncio.timeout(BODY_SECONDS):
            await request.read()
    except TimeoutError:
        return 408
    except web.HTTPRequestEntityTooLarge:
        return 413
    except (web.RequestPayloadError, OSError, RuntimeError):  # the last: cut before it was read
        return 400
    return None


class _Connection(web.RequestHandler):
    """A connection that has seconds for each head."""

    def __init__(self, port: _Port) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(
            port,
            loop=loop,
            access_log=None,  # pyright: ignore[reportArgumentType] (None: no log)
            auto_decompress=False,
            lingering_time=0,  # nothing more is read of what is refused
        )
        self._late: asyncio.TimerHandle | None = None
        self.reads_body = False
        self.silent_since = loop.time()
        self.is_answered = False
        """A whole request of it is at work, or waits for that."""
        self.has_asked = False
        """It has got an answer that is no refusal."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for its first head."""
        self._await_head()
        super().connection_made(transport)

    async def start(self) -> None:
        """Serve requests, unless the connection was lost before that began."""
        if self.transport is not None:
            await super().start()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Wait for nothing any more."""
        self._has_come()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes: a head's first byte begins its time."""
        self.silent_since = asyncio.get_running_loop().time()
        if self._late is None and not (self.reads_body or self.is_answered):
            self._await_head()
        super().data_received(data)

    def has_head(self) -> None:
        """Note that a request has begun."""
        self._has_come()
        self.reads_body = True

    def has_ended(self) -> None:
        """Note that the request has got its answer."""
        self.is_answered = self.reads_body = False
        self.silent_since = asyncio.get_running_loop().time()

    def _await_head(self) -> None:
        self._late = asyncio.get_running_loop().call_later(HEAD_SECONDS, self.force_close)

    def _has_come(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that is broken, or that we failed at."""
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            LOG.error("a request to %s failed", request.path, exc_info=exc)
        answer = web.Response(status=status)
        answer.force_close()
        return _unversioned(answer)


def _busy() -> web.StreamResponse:
    answer = _unversioned(web.Response(status=503))
    answer.force_close()
    return answer


def _unversioned(answer: web.StreamResponse) -> web.StreamResponse:
    answer.headers["Server"] = "parley"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer
