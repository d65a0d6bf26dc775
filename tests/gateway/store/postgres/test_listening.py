"""Ears of a node at a server that says nothing.

test_node_operations.py has what they hear.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import count

import pytest

from gateway.store.postgres import listening
from gateway.store.postgres.database import Database
from gateway.store.postgres.listening import listen

UNENCRYPTED = (80877103, 80877104)
"""Codes of programs that ask for encryption before they log in."""
READY = b"Z" + (5).to_bytes(4) + b"I"
LOGGED_IN = b"R" + (8).to_bytes(4) + bytes(4) + b"K" + (12).to_bytes(4) + bytes(8) + READY
DONE = b"1" + (4).to_bytes(4) + b"C" + (9).to_bytes(4) + b"DONE\0" + READY


class SilentServer:
    """Lets programs log in, answers a few statements, and then falls silent."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self.silent = asyncio.Event()
        """A statement is not answered."""
        self.left = asyncio.Event()
        """The program of that statement has hung up."""
        self.logins = 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Database]:
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            yield Database(url=f"postgresql://me@127.0.0.1:{port}/parley")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            code = UNENCRYPTED[0]
            while code in UNENCRYPTED:
                size = int.from_bytes(await reader.readexactly(4))
                code = int.from_bytes((await reader.readexactly(size - 4))[:4])
                if code in UNENCRYPTED:
                    writer.write(b"N")
            if code == 3 << 16:
                await self._answer(reader, writer)
            else:
                await reader.read()  # it asks to cancel a statement, and hears nothing
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.logins += 1
        writer.write(LOGGED_IN)
        for number in count():
            kind = b""
            while kind not in (b"S", b"Q"):  # the end of a statement and its values
                kind = await reader.readexactly(1)
                size = int.from_bytes(await reader.readexactly(4))
                await reader.readexactly(size - 4)
            if number == self._answers:
                break
            writer.write(DONE)
        self.silent.set()
        await reader.read()
        self.left.set()


async def leave(ears: asyncio.Future[None]) -> None:
    ears.cancel()
    await asyncio.wait([ears], timeout=1)
    assert ears.cancelled()


# The settings of the session, and two times LISTEN; below, the sign of life.
@pytest.mark.parametrize("answers", range(3))
async def test_who_listens_to_a_silent_server_leaves_at_once(answers: int) -> None:
    server = SilentServer(answers)
    async with server.running() as database:
        ears = asyncio.ensure_future(listen(database, "me", lambda _: None))
        await server.silent.wait()
        await leave(ears)
        await server.left.wait()


async def test_a_silent_server_is_left_for_a_new_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listening, "LOOK", 0.1)
    monkeypatch.setattr(listening, "AGAIN", 0.0)
    server, told = SilentServer(3), list[str]()
    async with server.running() as database, asyncio.timeout(3):
        ears = asyncio.ensure_future(listen(database, "me", told.append))
        while server.logins < 3:
            await server.left.wait()
            server.left.clear()
        await leave(ears)
    assert told[:2] == ["", ""]
