"""The connection to Discord's gateway, kept up by discord.py and by us.

An event that its parsers can't read ends discord.py's connection while it still says that it is
ready. So it runs in a task of its own, and is replaced by a new one when it ends or falls silent.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

import aiohttp
import discord.http
import yarl
from discord.client import Client as DiscordClient
from discord.errors import (
    ConnectionClosed,
    DiscordException,
    LoginFailure,
    PrivilegedIntentsRequired,
)
from discord.flags import Intents, MemberCacheFlags
from discord.gateway import DiscordClientWebSocketResponse, DiscordWebSocket
from discord.http import Route
from discord.mentions import AllowedMentions
from discord.shard import AutoShardedClient
from discord.voice_client import VoiceClient

from adapters.discord.config import Config
from adapters.discord.connection.rest import TOKEN_REFUSED
from gateway.adapter import AuthError
from gateway.base.proxy_connector import ProxyConnector

LOG = logging.getLogger("adapters.discord")

SILENCE_SECONDS = 100.0
"""Seconds without any frame after which a connection is dead; a heartbeat is answered every 41."""
PING_SECONDS = 10.0
"""Seconds without data after which a socket is asked for a sign of life; it has half as many more
to give one. discord.py's own heartbeats find a half-open socket after more than a minute.
"""
CONNECT_SECONDS = 12.0
GREETING_SECONDS = 10.0
"""Seconds that Discord has to greet a socket, by READY or RESUMED; it does at once."""
CHECK_SECONDS = 2.0
CLOSE_SECONDS = 5.0
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
STABLE_SECONDS = 60.0
"""Seconds after which a connection counts as one that had been good."""

BAD_TOKEN = 4004
BAD_INTENTS = (4013, 4014)


class ClientListener(Protocol):
    """A listener to one client's connections, numbered from 0 (Discord's shards)."""

    def on_frame(self, text: str) -> None:
        """Discord sent this."""
        ...

    def on_opened(self) -> None:
        """A socket is open, and waits for its greeting."""
        ...

    def on_greeted(self, shard: int) -> None:
        """The connection is ready, in a new session."""
        ...

    def on_resumed(self, shard: int) -> None:
        """The connection resumed, and every event since then was sent."""
        ...

    def on_lost(self, shard: int) -> None:
        """The connection is gone."""
        ...


class ConnectionListener(Protocol):
    """A listener to the connections, numbered from 0 (Discord's shards)."""

    def on_frame(self, text: str) -> None:
        """Discord sent this."""
        ...

    def on_lost(self, shard: int) -> None:
        """The connection is gone."""
        ...

    def on_resumed(self, shard: int) -> None:
        """The connection resumed, and every event since then was sent."""
        ...

    def on_connection(self, *, is_open: bool) -> None:
        """All connections are greeted, or no longer all."""
        ...


class Client(DiscordClient):
    """discord.py's client, which passes on each frame as it came."""

    def __init__(self, listener: ClientListener, **options: Any) -> None:
        super().__init__(**options)
        self._listener = listener
        _watch_sockets(self, listener)

    async def on_socket_raw_receive(self, message: str) -> None:
        """A frame, before anything was read out of it."""
        self._listener.on_frame(message)

    async def on_connect(self) -> None:
        """The connection is ready."""
        self._listener.on_greeted(0)

    async def on_disconnect(self) -> None:
        """The connection is gone."""
        self._listener.on_lost(0)

    async def on_resumed(self) -> None:
        """It goes on."""
        self._listener.on_resumed(0)


class ShardedClient(AutoShardedClient):
    """The same with several connections."""

    def __init__(self, listener: ClientListener, **options: Any) -> None:
        super().__init__(**options)
        self._listener = listener
        _watch_sockets(self, listener)

    async def on_socket_raw_receive(self, message: str) -> None:
        """A frame, before anything was read out of it."""
        self._listener.on_frame(message)

    async def on_shard_connect(self, shard: int) -> None:
        """One of them is ready."""
        self._listener.on_greeted(shard)

    async def on_shard_disconnect(self, shard: int) -> None:
        """One of them is gone."""
        self._listener.on_lost(shard)

    async def on_shard_resumed(self, shard: int) -> None:
        """One of them goes on."""
        self._listener.on_resumed(shard)


class PingedSocket(DiscordClientWebSocketResponse):
    """A socket of discord.py that notices a lost peer."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "heartbeat": PING_SECONDS})

    def count_arrivals(self) -> None:
        """Let whatever arrives show that the peer is there.

        aiohttp does so only for a heartbeat that `ws_connect` was given, and discord.py gives it
        none: without this, every quiet connection ended after 15 seconds.
        """
        if self._conn is not None and (protocol := self._conn.protocol) is not None:
            protocol._data_received_cb = self._on_data_received  # pyright: ignore[reportPrivateUsage]


def _watch_sockets(client: DiscordClient, listener: ClientListener) -> None:
    """Limit the time to open a socket, and tell of each."""
    connect = client.http.ws_connect

    async def ws_connect(url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        async with asyncio.timeout(CONNECT_SECONDS):
            socket = await connect(url, compress=compress)
        assert isinstance(socket, PingedSocket)
        socket.count_arrivals()
        listener.on_opened()
        return socket

    client.http.ws_connect = ws_connect


def make_intents(config: Config) -> Intents:
    """The intents that the bot asks for."""
    intents = Intents.none()
    intents.guilds = True
    intents.guild_messages = True
    intents.dm_messages = True
    intents.message_content = config.message_content
    return intents


def make_client(config: Config, shards: int, listener: ClientListener) -> DiscordClient:
    """A new client; nothing is connected yet."""
    # discord.py has one address, and one kind of socket, for a whole process.
    discord.http.DiscordClientWebSocketResponse = PingedSocket  # pyright: ignore[reportPrivateImportUsage]
    Route.BASE = config.api_url.rstrip("/")
    if config.gateway_url is not None:
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(config.gateway_url)
    options: dict[str, Any] = {
        "intents": make_intents(config),
        "max_messages": None,
        "member_cache_flags": MemberCacheFlags.none(),
        "chunk_guilds_at_startup": False,
        "allowed_mentions": AllowedMentions.none(),
        "enable_debug_events": True,
        "connector": ProxyConnector(limit=0),  # as discord.py's own
        # Nothing waits for it here, and a client closed meanwhile would leave a task behind.
        "guild_ready_timeout": 0.0,
    }
    VoiceClient.warn_nacl = VoiceClient.warn_dave = False
    if shards > 1:
        return ShardedClient(listener, shard_count=shards, **options)
    return Client(listener, **options)


class Connection:
    """Keeps a connection of `shards` shards until it is cancelled.

    Each attempt has a new client from `make`; its events go to `listener`. `client` is the current
    one. Raises AuthError for a token or intents that Discord refuses.
    """

    def __init__(
        self,
        make: Callable[[ClientListener], DiscordClient],
        token: str,
        listener: ConnectionListener,
        *,
        shards: int = 1,
        silent: float = SILENCE_SECONDS,
        greeting: float = GREETING_SECONDS,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._make = make
        self._token = token
        self._listener = listener
        self._shards = shards
        self._silent = silent
        self._greeting = greeting
        self._first_wait = first_wait
        self._heard_at = 0.0
        self._greeted: set[int] = set()
        self._waiting: list[float] = []
        """When the sockets were opened that are not greeted yet, the oldest first."""
        self.client: DiscordClient | None = None
        self.replaced = 0
        """The number of clients that were given up."""

    async def run(self) -> None:
        """Connect, and again whenever that ends."""
        wait = self._first_wait
        while True:
            began = monotonic()
            why = await self._run_client()
            if monotonic() - began > STABLE_SECONDS:
                wait = self._first_wait
            self.replaced += 1
            delay = wait * random.uniform(0.5, 1.5)
            LOG.warning("the connection to Discord ended (%s); a new one in %.1f s", why, delay)
            await asyncio.sleep(delay)
            wait = min(wait * 2, LONGEST_WAIT)

    async def _run_client(self) -> str:
        """One client's life; why it ended."""
        client = self._make(self)
        self._greeted.clear()
        self._waiting.clear()
        self._listener.on_connection(is_open=False)
        for shard in range(self._shards):
            self._listener.on_lost(shard)
        self.client = client
        self._heard_at = monotonic()
        connecting = asyncio.get_running_loop().create_task(
            client.start(self._token), name="connection to Discord"
        )
        try:
            while not connecting.done():
                every = min(CHECK_SECONDS, self._silent / 4, self._greeting / 4)
                await asyncio.wait([connecting], timeout=every)
                if monotonic() - self._heard_at > self._silent:
                    return f"silent for {self._silent:.0f} s"
                if self._waiting and monotonic() - self._waiting[0] > self._greeting:
                    return f"not greeted for {self._greeting:.0f} s"
        finally:
            await _close_client(client, connecting)
        return self._end_reason(connecting)

    def on_frame(self, text: str) -> None:
        """Discord sent this."""
        self._heard_at = monotonic()
        self._listener.on_frame(text)

    def on_opened(self) -> None:
        """A socket is open."""
        self._waiting.append(monotonic())

    def on_greeted(self, shard: int) -> None:
        """A connection is ready."""
        self._end_wait()
        self._greeted.add(shard)
        self._listener.on_connection(is_open=len(self._greeted) == self._shards)

    def on_resumed(self, shard: int) -> None:
        """A connection goes on."""
        self.on_greeted(shard)
        self._listener.on_resumed(shard)

    def on_lost(self, shard: int) -> None:
        """A connection is gone."""
        if shard in self._greeted:
            self._greeted.discard(shard)
        else:
            self._end_wait()
        self._listener.on_connection(is_open=False)
        self._listener.on_lost(shard)

    def _end_wait(self) -> None:
        """A socket was greeted or closed; Discord does not say which."""
        if self._waiting:
            del self._waiting[0]

    def _end_reason(self, connecting: asyncio.Task[None]) -> str:
        if connecting.cancelled():
            return "cancelled"
        match connecting.exception():
            case None:
                return "closed"
            case LoginFailure() as error:
                raise AuthError(TOKEN_REFUSED) from error
            case ConnectionClosed(code=code) as error if code == BAD_TOKEN:
                raise AuthError(TOKEN_REFUSED) from error
            case PrivilegedIntentsRequired() as error:
                raise _intents_error() from error
            case ConnectionClosed(code=code) as error if code in BAD_INTENTS:
                raise _intents_error() from error
            case error:
                LOG.error("the client of Discord ended with an error", exc_info=error)
                return type(error).__name__


def _intents_error() -> AuthError:
    return AuthError(
        "Discord does not let the bot read messages' text: switch on Message Content Intent in the "
        'developer portal, page "Bot", or set message_content = false.'
    )


async def _close_client(client: DiscordClient, connecting: asyncio.Task[None]) -> None:
    """Close a client, whatever state it is in, within a bounded time."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.close()
    except (TimeoutError, OSError, DiscordException) as error:
        LOG.warning("could not close a client of Discord: %r", error)
    connecting.cancel()
    await asyncio.wait([connecting], timeout=CLOSE_SECONDS)
