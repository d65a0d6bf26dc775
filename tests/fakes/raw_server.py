"""A server that answers every request with the same bytes, however odd."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, suppress

LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
Chunks = Iterable[bytes]


@asynccontextmanager
async def answering(head: str, body: Callable[[], Chunks] | bytes = b"") -> AsyncGenerator[str]:
    """The address of a server with this status line and these headers.

    A `body` that is a function gives the chunks of an answer without a length.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                if found := LENGTH.search(asked):
                    await reader.readexactly(int(found[1]))
                lines = [f"HTTP/1.1 {head}"]
                if isinstance(body, bytes):
                    writer.write(_head([*lines, f"Content-Length: {len(body)}"]) + body)
                    await writer.drain()
                    continue
                writer.write(_head([*lines, "Connection: close"]))
                for chunk in body():
                    writer.write(chunk)
                    await writer.drain()
                    await asyncio.sleep(0)  # `drain` alone lets nobody else have a turn
                break
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def _head(lines: list[str]) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode()
