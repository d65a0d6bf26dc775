"""A pooler that lends PostgreSQL's sessions for one transaction each."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

ASKS = (10, 11)
"""Steps of a login with a password that the program has to answer."""
ENDS = (b"Q", b"S")
"""Messages after which a program waits until the server is ready."""


class Session(NamedTuple):
    """A connection to the server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class TransactionPooler:
    """Sessions of all programs, the longest unused first."""

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._idle = deque[Session]()
        self._all: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Let a program log in, then carry its transactions."""
        session = Session(*await asyncio.open_connection(*self._server))
        self._all += [writer, session.writer]
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            length = await reader.readexactly(4)
            session.writer.write(length + await reader.readexactly(int.from_bytes(length) - 4))
            await self._log_in(Session(reader, writer), session)
            self._idle.append(session)
            await self._carry(Session(reader, writer))

    async def _log_in(self, program: Session, session: Session) -> None:
        kind = b""
        while kind != b"Z":
            kind, message = await _message(session.reader)
            if kind == b"K":  # a session's number; a program that ends a statement tells the pooler
                message = message[:5] + secrets.token_bytes(4) + message[9:]
            program.writer.write(message)
            if kind == b"R" and int.from_bytes(message[5:9]) in ASKS:
                session.writer.write((await _message(program.reader))[1])

    async def _carry(self, program: Session) -> None:
        session: Session | None = None
        while True:
            kind, message = await _message(program.reader)
            if kind == b"X":
                return
            session = session or self._idle.popleft()
            session.writer.write(message)
            if kind in ENDS and await _relay(session, program):
                self._idle.append(session)
                session = None

    def close(self) -> None:
        """Close all connections."""
        for writer in self._all:
            writer.close()


async def _relay(session: Session, program: Session) -> bool:
    """Pass on the server's answer; True if its transaction is over."""
    while True:
        kind, message = await _message(session.reader)
        program.writer.write(message)
        if kind == b"Z":
            return message.endswith(b"I")


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """A message's kind, and all of it."""
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(int.from_bytes(head[1:]) - 4)


@asynccontextmanager
async def pooled(url: str) -> AsyncGenerator[str]:
    """The address of the same database behind a pooler."""
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    pooler = TransactionPooler(address.hostname, address.port)
    async with await asyncio.start_server(pooler.serve, "127.0.0.1", 0) as server:
        place = "{}:{}".format(*server.sockets[0].getsockname())
        login = address.netloc.rpartition("@")[0]
        plain = "sslmode=disable&gssencmode=disable"
        try:
            yield address._replace(netloc=f"{login}@{place}", query=plain).geturl()
        finally:
            pooler.close()
