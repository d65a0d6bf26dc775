"""The proxy of a browser: it judges the host of every connection.

Redirects, frames, sockets and workers go through it, too, and it connects to the addresses that it
has judged: a name can't lead elsewhere a moment later. It serves those who know its random word:
other users of this machine can reach its port, too.
"""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from collections import deque
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies

from teams._base.addresses import is_public
from teams._base.kinds import NetworkRules
from teams._base.web import has_proxy, is_named, public_addresses

CONNECT_SECONDS = 10.0
LONGEST_CONNECTION = 900.0
"""Seconds."""
MOST_BYTES = 100_000_000
"""Bytes that a connection brings."""

_HOP_HEADERS = re.compile(rb"(?im)^(?:proxy-[\w-]+|connection|keep-alive):[^\n]*\n")
_LENGTH = re.compile(rb"(?im)^content-length:\s*(\d+)\s*$")
_CREDENTIALS = re.compile(rb"(?im)^proxy-authorization:[ \t]*basic[ \t]+([\w+/=-]+)[ \t]*\r?$")

USER = "parley"
_WHO_ASKS = b"HTTP/1.1 407 Who asks?\r\nProxy-Authenticate: Basic realm=parley\r\n"


class JudgingProxy:
    """A proxy on the loopback interface; `refusals` says why.

    It asks for USER and the `word`.
    """

    def __init__(self, rules: NetworkRules) -> None:
        self.rules = rules
        self.word = secrets.token_urlsafe()
        self.refusals: deque[str] = deque(maxlen=5)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Listen; the proxy's address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with asyncio.timeout(LONGEST_CONNECTION):
                await self._answer(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError):
            pass  # the browser sees a connection that has ended
        except asyncio.CancelledError:
            if self._server is not None and self._server.is_serving():
                raise
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        if not self._knows_word(head):
            writer.write(_WHO_ASKS + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            return await writer.drain()
        tunnel = method == "CONNECT"
        url = urlsplit(f"https://{target}" if tunnel else target)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                there, out, upstream = await self._connect(url)
        except (OSError, ValueError, TimeoutError) as error:
            if isinstance(error, ValueError):
                self.refusals.append(str(error))
            text = str(error).encode() or b"No answer."
            status = b"403 Refused" if isinstance(error, ValueError) else b"502 Unreachable"
            writer.write(b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\n" % status)
            writer.write(b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(text) + text)
            return await writer.drain()
        try:
            if tunnel and upstream is None:
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                out.write(_forwarded(head, url, upstream))
            # A plain connection carries one request: the next one may be for another host.
            length = _LENGTH.search(head)
            sent = MOST_BYTES if tunnel else int(length[1]) if length else 0
            async with asyncio.TaskGroup() as group:
                group.create_task(_relay(reader, out, sent, ends=tunnel), name="browser to server")
                group.create_task(_relay(there, writer, MOST_BYTES), name="server to browser")
        finally:
            out.close()

    def _knows_word(self, head: bytes) -> bool:
        sent = _CREDENTIALS.search(head)
        own = base64.b64encode(f"{USER}:{self.word}".encode())
        return sent is not None and secrets.compare_digest(sent[1], own)

    async def _connect(
        self, url: SplitResult
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, SplitResult | None]:
        """A connection to the judged host, or to the machine's own proxy."""
        host, port = (url.hostname or "").rstrip("."), url.port or 80
        if not self.rules.reaches(host):
            raise ValueError(f"{host} is not among the hosts that may be reached.")
        if self.rules.is_private_allowed(host):
            return *await asyncio.open_connection(host, port), None
        if has_proxy(url.scheme, host):
            if is_named(host) and ("localhost" in host or not is_public(host)):
                raise ValueError(f"{host} is an address of a private network, which is refused.")
            found = getproxies()
            upstream = urlsplit(found.get(url.scheme) or found["all"])
            return *await asyncio.open_connection(upstream.hostname, upstream.port), upstream
        failed: OSError | None = None
        for address in await public_addresses(host, port):
            try:
                return *await asyncio.open_connection(address, port), None
            except OSError as error:
                failed = error
        raise failed or ConnectionError(f"There is no address of {host}.")


def _forwarded(head: bytes, url: SplitResult, upstream: SplitResult | None) -> bytes:
    """The request's head as the next server wants it."""
    line, _, headers = head.partition(b"\r\n")
    headers = _HOP_HEADERS.sub(b"", headers)
    if upstream is not None:
        if upstream.username:
            pair = f"{unquote(upstream.username)}:{unquote(upstream.password or '')}".encode()
            headers = b"Proxy-Authorization: Basic %s\r\n" % base64.b64encode(pair) + headers
    else:
        method, _, version = line.split(b" ", 2)
        path = url._replace(scheme="", netloc="").geturl() or "/"
        line = b"%s %s %s" % (method, path.encode("latin-1"), version)
    return line + b"\r\n" + (b"" if b"CONNECT" in line else b"Connection: close\r\n") + headers


async def _relay(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, most: int, *, ends: bool = True
) -> None:
    """Pass on bytes; close the sink if it `ends`."""
    try:
        with suppress(OSError):
            while most > 0 and (data := await source.read(min(most, 65536))):
                most -= len(data)
                sink.write(data)
                await sink.drain()
    finally:
        if ends:
            sink.close()
