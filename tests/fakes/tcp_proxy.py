"""A TCP proxy before PostgreSQL, with faults.

It reads the messages of programs (PostgreSQL's manual, "Message Formats"), to know a COMMIT.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal, Self
from urllib.parse import urlsplit

Cut = Literal["", "before", "after", "held"]
"""A connection is cut before its COMMIT reaches the server, or before the answer comes back.

"held": before, and the server is not told.
"""

EXECUTE_AND_SYNC = b"E" + (9).to_bytes(4) + b"\0" + bytes(4) + b"S" + (4).to_bytes(4)
"""Messages that follow the Bind of a COMMIT, so that the server answers."""
QUESTIONS = (80877103, 80877104)
"""Codes of programs that ask for encryption before they log in."""


class _Link:
    """One connection, and the names by which it has prepared a COMMIT."""

    def __init__(self, task: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
        self.task = task
        self.writer = writer
        self.commits: set[bytes] = set()
        self.deaf = False
        """The answer of the server is waited for, and is not passed on."""


class TcpProxy:
    """Passes everything on, as long as nothing else is wanted."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._links: set[_Link] = set()
        self._open = asyncio.Event()
        self._open.set()
        self.cut: Cut = ""
        """Fault of the next COMMIT."""
        self.was_cut = asyncio.Event()
        self.connected = 0
        """Number of connections so far."""

    @property
    def url(self) -> str:
        """The server's address, through the proxy."""
        user, _, _ = self._parts.netloc.rpartition("@")
        port = self._server.sockets[0].getsockname()[1]
        return self._parts._replace(netloc=f"{user}@127.0.0.1:{port}").geturl()

    def silence(self) -> None:
        """Be a black hole: take connections and bytes, and pass nothing on."""
        self._open.clear()

    def speak(self) -> None:
        """Pass on what was held, and all that follows."""
        self._open.set()

    def lose(self) -> None:
        """End all connections to the server; programs are not told."""
        self.silence()
        for link in self._links:
            link.task.cancel("lost")

    def reset(self) -> None:
        """End all connections, on both sides."""
        for link in self._links:
            link.task.cancel()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        tasks = [link.task for link in self._links]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        link = _Link(task, writer)
        self._links.add(link)
        self.connected += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._serve(link, reader, writer)
        except asyncio.CancelledError as error:  # asyncio's server would report it
            if error.args == ("lost",):
                with suppress(asyncio.CancelledError):
                    await reader.read()  # the program's side stays open until it leaves
        finally:
            self._links.discard(link)
            writer.transport.abort()

    async def _serve(
        self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await self._open.wait()
        host, port = self._parts.hostname, self._parts.port
        there, server = await asyncio.open_connection(host, port)
        try:
            async with asyncio.TaskGroup() as group:
                back = group.create_task(self._answers(link, there, writer), name="proxy back")
                await self._questions(link, reader, server)
                if link.deaf:
                    await back
                back.cancel()
        except ExceptionGroup as errors:
            raise ConnectionError from errors
        finally:
            server.transport.abort()

    async def _questions(
        self, link: _Link, reader: asyncio.StreamReader, server: asyncio.StreamWriter
    ) -> None:
        """Pass on what the program says, until it leaves or is cut."""
        code = QUESTIONS[0]
        while code in QUESTIONS:
            size = await reader.readexactly(4)
            body = await reader.readexactly(int.from_bytes(size) - 4)
            code = int.from_bytes(body[:4])
            await self._open.wait()
            server.write(size + body)
        while not link.deaf:
            head = await reader.readexactly(5)
            body = await reader.readexactly(int.from_bytes(head[1:]) - 4)
            await self._open.wait()
            commits = _commits(link, head[:1], body)
            if commits and self.cut and not await self._reaches_server(link):
                return
            server.write(head + body)
        server.write(EXECUTE_AND_SYNC)

    async def _reaches_server(self, link: _Link) -> bool:
        """Cut the link at its COMMIT; True if that goes through."""
        cut, self.cut = self.cut, ""
        self.was_cut.set()
        if cut == "held":
            link.writer.transport.abort()
            await asyncio.Event().wait()
        link.deaf = cut == "after"
        return link.deaf

    async def _answers(
        self, link: _Link, there: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Pass on what the server says, until it leaves."""
        while data := await there.read(65_536):
            if link.deaf and b"COMMIT\0" in data:
                return
            await self._open.wait()
            if not link.deaf:
                writer.write(data)
        raise ConnectionError


def _commits(link: _Link, kind: bytes, body: bytes) -> bool:
    """True if the message carries out a COMMIT.

    Names of prepared ones are noted.
    """
    first, _, rest = body.partition(b"\0")
    if kind == b"P":
        link.commits.discard(first)
        if rest.startswith(b"COMMIT\0"):
            link.commits.add(first)
    return kind == b"B" and rest.partition(b"\0")[0] in link.commits
