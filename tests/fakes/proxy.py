"""An HTTP proxy for tests: tunnels, and requests with a whole address.

RFC 9110, 9.3.6 (CONNECT) and RFC 9112, 3.2.2 (absolute-form). It records what it is asked for, and
every connection of this process that goes around it.
"""

from __future__ import annotations

import asyncio
import socket
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlsplit

from tests.connections import NOTES, watch

FROM = "127.0.0.9"
"""Address of the proxy's own connections, which are not around it."""


class FakeProxy:
    """Passes everything on, to whoever knows `password` if there is one."""

    def __init__(self, *, user: str = "parley", password: str = "") -> None:
        self.targets: list[str] = []
        """The addresses of requests; of CONNECT, HOST:PORT."""
        self.around: list[int] = []
        """The ports that were reached without it."""
        self.refused = 0
        self._user, self._password = user, password
        self._tasks: set[asyncio.Task[None]] = set()
        self._frozen: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        """Its address, with the password if there is one."""
        who = f"{self._user}:{self._password}@" if self._password else ""
        return f"http://{who}127.0.0.1:{self.port}"

    def freeze(self) -> None:
        """Let the open connections pass nothing on."""
        self._frozen |= self._tasks

    def _note(self, made: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and made.getsockname()[0] != FROM:
            port = int(address[1])
            if port != self.port:
                self.around.append(port)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        watch()
        NOTES.append(self._note)
        return self

    async def __aexit__(self, *error: object) -> None:
        NOTES.remove(self._note)
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass  # asyncio's server would report it
        finally:
            self._tasks.discard(task)
            await _close(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, target, version = first.split(" ")
        if not self._is_known(lines):
            self.refused += 1
            writer.write(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"
                b"Content-Length: 0\r\nConnection: close\r\n\r\n"
            )
            await writer.drain()
            return
        self.targets.append(target)
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            there = await asyncio.open_connection(host, int(port), local_addr=(FROM, 0))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            parts = urlsplit(target)
            there = await asyncio.open_connection(parts.hostname, parts.port, local_addr=(FROM, 0))
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            there[1].write(_forwarded(f"{method} {path or '/'} {version}", lines))
        task = asyncio.current_task()
        await _pump(reader, writer, *there, frozen=lambda: task in self._frozen)

    def _is_known(self, lines: list[str]) -> bool:
        if not self._password:
            return True
        word = b64encode(f"{self._user}:{self._password}".encode()).decode()
        return f"proxy-authorization: basic {word}".lower() in map(str.lower, lines)


def _forwarded(first: str, lines: list[str]) -> bytes:
    """A request as its server gets it.

    One for each connection, unless it becomes a socket.
    """
    kept = [line for line in lines if not line.lower().startswith("proxy-")]
    if not any(line.lower().startswith("upgrade:") for line in kept):
        kept = [line for line in kept if not line.lower().startswith("connection:")]
        kept.append("Connection: close")
    return "\r\n".join([first, *kept, "", ""]).encode("latin-1")


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
    *,
    frozen: Callable[[], bool],
) -> None:
    """Copy both ways until one side ends."""

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                if not frozen():
                    sink.write(data)
                    await sink.drain()

    loop = asyncio.get_running_loop()
    ways = [
        loop.create_task(copy(reader, far_writer), name="proxy there"),
        loop.create_task(copy(far_reader, writer), name="proxy back"),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        far_writer.close()  # before anything that may be cancelled
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        await _close(far_writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
