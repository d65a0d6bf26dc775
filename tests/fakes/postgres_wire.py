"""A way to PostgreSQL that counts what programs send."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

EXECUTE, SYNC, PARSE = "E", "S", "P"
"""Kinds of messages: carry out a statement, answer all so far, prepare a statement."""


class CountedWire:
    """Passes everything on to the server of a URL."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        self._tasks = set[asyncio.Task[None]]()
        self.sent = Counter[str]()
        """Messages of programs that are logged in, by their kinds."""

    @property
    def url(self) -> str:
        """The database's address by this way."""
        who = self._there.netloc.rpartition("@")[0]
        port = self._server.sockets[0].getsockname()[1]
        here = self._there._replace(netloc=f"{who}@127.0.0.1:{port}")
        return here._replace(query="sslmode=disable&gssencmode=disable").geturl()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        far_reader, far_writer = await asyncio.open_connection(
            self._there.hostname, self._there.port
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._count(reader, far_writer), name="wire there")
                group.create_task(_copy(far_reader, writer), name="wire back")
        except asyncio.CancelledError:
            pass  # asyncio's server would report it
        finally:
            self._tasks.discard(task)
            for each in (writer, far_writer):
                each.close()

    async def _count(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            size = await source.readexactly(4)  # the first message has no kind
            sink.write(size + await source.readexactly(int.from_bytes(size) - 4))
            while True:
                head = await source.readexactly(5)
                self.sent[chr(head[0])] += 1
                sink.write(head + await source.readexactly(int.from_bytes(head[1:]) - 4))
        sink.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65_536):
            sink.write(data)
    sink.close()
