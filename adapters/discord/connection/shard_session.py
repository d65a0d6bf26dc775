"""A client of discord.py for one shard, whose session outlives it.

All of discord.py's internals that this needs are used here: DiscordWebSocket.from_client with its
arguments, poll_event, session_id, gateway and sequence, and ReconnectWebSocket. discord.py's own
loop can't begin with a session of another process, and identifies whenever it likes.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeAlias

import aiohttp
import yarl
from discord.client import Client as DiscordClient
from discord.errors import ConnectionClosed, PrivilegedIntentsRequired
from discord.gateway import DiscordWebSocket, ReconnectWebSocket

from adapters.discord.connection.shard_state import ShardSession

LOG = logging.getLogger("adapters.discord")

OPEN_SECONDS = 30.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds between two tries to connect, of which the last failed."""
INVALID_SEQUENCE = 4007
DISALLOWED_INTENTS = 4014
COMES_BACK = 4000
"""Code of a close after which Discord keeps the session, as it does not after 1000 and 1001."""
REFUSED_WAIT = 1.0, 5.0
"""Seconds before a new session where Discord refused one, at random between them, as it asks."""


ConnectionState: TypeAlias = Literal["opened", "greeted", "resumed", "lost"]
"""States of a connection: its socket is open and waits for a greeting, it is ready in a new session
and is told of all servers, it goes on and every event since then was sent, or it is gone.
"""


class ClientListener(Protocol):
    """A listener to one client's connection."""

    def on_frame(self, text: str) -> None:
        """Discord sent this."""
        ...

    def on_state(self, state: ConnectionState) -> None:
        """The connection has a new state."""
        ...


class ShardClient(DiscordClient):
    """Keeps the connection of one shard.

    It passes on each frame as it came, and begins with `session` if that is given. `may_identify`
    returns when a new session may begin.
    """

    def __init__(
        self,
        listener: ClientListener,
        session: ShardSession | None,
        may_identify: Callable[[], Awaitable[None]],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._listener = listener
        self._session = session
        self._may_identify = may_identify
        self._leaving = False

    async def on_socket_raw_receive(self, message: str) -> None:
        """A frame, before anything was read out of it."""
        self._listener.on_frame(message)

    async def on_connect(self) -> None:
        """The connection is ready."""
        self._listener.on_state("greeted")

    async def on_disconnect(self) -> None:
        """The connection is gone."""
        self._listener.on_state("lost")

    async def on_resumed(self) -> None:
        """It goes on."""
        self._listener.on_state("resumed")

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Nothing more: `may_identify` has let it pass."""

    async def leave(self) -> None:
        """Close the connection; its session goes on elsewhere."""
        self._leaving = True
        socket: Any = self.ws  # None before the first one, whatever its type says
        if socket is not None and socket.open:
            await socket.close(code=COMES_BACK)

    async def connect(self, *, reconnect: bool = True) -> None:
        """Keep a session; where it is lost, begin a new one."""
        failures = 0
        while not (self.is_closed() or self._leaving):
            if self._session is None:
                await self._may_identify()
            opened = answered = False
            try:
                self.ws = await self._open(self._session, failures)
                opened = True
                while True:
                    await self.ws.poll_event()
                    answered, failures = True, 0
            except (ReconnectWebSocket, OSError, aiohttp.ClientError, TimeoutError) as error:
                self.dispatch("disconnect")
                asked = isinstance(error, ReconnectWebSocket)
                resumable = not asked or error.resume
                if opened:
                    self._session = _session_after(self.ws, resumable=resumable)
                if not resumable:
                    await asyncio.sleep(random.uniform(*REFUSED_WAIT))
                elif not (asked and (answered or self._leaving)):
                    failures += 1
                    wait = wait_after(failures)
                    LOG.warning("no connection to Discord (%r); again in %.1f s", error, wait)
                    await asyncio.sleep(wait)
            except ConnectionClosed as error:
                self.dispatch("disconnect")
                if self.is_closed():
                    return
                if error.code == DISALLOWED_INTENTS:
                    raise PrivilegedIntentsRequired(error.shard_id) from error
                raise

    async def _open(self, session: ShardSession | None, failures: int) -> DiscordWebSocket:
        """A socket that has asked for this session, or a new one."""
        async with asyncio.timeout(OPEN_SECONDS):
            if session is None:
                return await DiscordWebSocket.from_client(self, shard_id=self.shard_id)
            # Discord wants a resume at the session's address; elsewhere it works, too.
            address = None if failures % 2 else yarl.URL(session.address)
            return await DiscordWebSocket.from_client(
                self,
                gateway=address,
                shard_id=self.shard_id,
                session=session.id,
                sequence=session.sequence,
                resume=True,
            )


def wait_after(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(failures - 1, 6))
    return random.uniform(0.5, 1.0) * longest


def _session_after(socket: DiscordWebSocket, *, resumable: bool) -> ShardSession | None:
    """The session of a closed socket; None if it is over."""
    if not resumable or socket.socket.close_code == INVALID_SEQUENCE:
        return None
    if socket.session_id is None or socket.sequence is None:
        return None
    return ShardSession(id=socket.session_id, address=str(socket.gateway), sequence=socket.sequence)
