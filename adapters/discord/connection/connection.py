"""A shard's connection to Discord's gateway, kept up by us.

An event that its parsers can't read ends discord.py's connection while it still says that it is
ready. So it runs in a task of its own, and is replaced by a new one when it ends or falls silent.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Protocol, TypeAlias

import aiohttp
import discord.http
import yarl
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
from discord.voice_client import VoiceClient

from adapters.discord.config import Config
from adapters.discord.connection.rest import TOKEN_REFUSED
from adapters.discord.connection.shard_session import (
    ClientListener,
    ConnectionState,
    ShardClient,
)
from adapters.discord.connection.shard_state import ShardSession
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

INTENTS_REFUSED = (
    "Discord does not let the bot read messages' text: switch on Message Content Intent in the "
    'developer portal, page "Bot", or set message_content = false.'
)

MakeClient: TypeAlias = Callable[
    [int, ClientListener, ShardSession | None, Callable[[], Awaitable[None]]], ShardClient
]
"""Makes a client for a shard: its listener, its session, and what to wait for before a new one."""


class ConnectionListener(Protocol):
    """A listener to the connections of shards."""

    def on_frame(self, shard: int, text: str) -> None:
        """Discord sent this."""
        ...

    def on_state(self, shard: int, state: ConnectionState) -> None:
        """The connection is greeted, or no longer is."""
        ...


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


def _direct(client: ShardClient, config: Config, listener: ClientListener) -> None:
    """Use the config's addresses, open sockets in time, and tell of each.

    discord.py has one address for all bots of a process.
    """
    connect, request = client.http.ws_connect, client.http.request
    base, first = config.api_url.rstrip("/"), DiscordWebSocket.DEFAULT_GATEWAY.origin()

    async def ask(route: Route, **more: Any) -> Any:
        route.url = base + route.url.removeprefix(Route.BASE)
        return await request(route, **more)

    async def ws_connect(url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        address = yarl.URL(url)
        if config.gateway_url is not None and address.origin() == first:
            url = str(yarl.URL(config.gateway_url).with_query(address.query))
        async with asyncio.timeout(CONNECT_SECONDS):
            socket = await connect(url, compress=compress)
        assert isinstance(socket, PingedSocket)
        socket.count_arrivals()
        listener.on_state("opened")
        return socket

    client.http.request, client.http.ws_connect = ask, ws_connect


def make_intents(config: Config) -> Intents:
    """The intents that the bot asks for."""
    intents = Intents.none()
    intents.guilds = True
    intents.guild_messages = True
    intents.dm_messages = True
    intents.message_content = config.message_content
    return intents


def make_client(
    config: Config,
    shards: int,
    shard: int,
    listener: ClientListener,
    session: ShardSession | None,
    may_identify: Callable[[], Awaitable[None]],
) -> ShardClient:
    """A new client; nothing is connected yet."""
    # discord.py has one kind of socket for a whole process.
    discord.http.DiscordClientWebSocketResponse = PingedSocket  # pyright: ignore[reportPrivateImportUsage]
    VoiceClient.warn_nacl = VoiceClient.warn_dave = False
    client = ShardClient(
        listener,
        session,
        may_identify,
        shard_id=shard,
        shard_count=shards,
        intents=make_intents(config),
        max_messages=None,
        member_cache_flags=MemberCacheFlags.none(),
        chunk_guilds_at_startup=False,
        allowed_mentions=AllowedMentions.none(),
        enable_debug_events=True,
        connector=ProxyConnector(limit=0),  # as discord.py's own
        # Nothing waits for it here, and a client closed meanwhile would leave a task behind.
        guild_ready_timeout=0.0,
    )
    _direct(client, config, listener)
    return client


class Connection:
    """Keeps the connection of a shard until it is cancelled.

    Each attempt has a new client from `make`; its events go to `listener`. `client` is the current
    one. `gate` returns when the shard may begin a new session. Raises AuthError for a token or
    intents that Discord refuses.
    """

    def __init__(
        self,
        make: MakeClient,
        token: str,
        listener: ConnectionListener,
        gate: Callable[[int], Awaitable[None]],
        *,
        shard: int = 0,
        silent: float = SILENCE_SECONDS,
        greeting: float = GREETING_SECONDS,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._make = make
        self._token = token
        self._listener = listener
        self._gate = gate
        self._shard = shard
        self._silent = silent
        self._greeting = greeting
        self._first_wait = first_wait
        self._heard_at = 0.0
        self._waits_for_gate = False
        self._was_opened = False
        self._opened_at: float | None = None
        """When the socket was opened, until it is greeted."""
        self.client: ShardClient | None = None
        self.tells_all = False
        """True if the client has been told of all its servers, as a session that began earlier is
        not.
        """

    async def run(self, session: ShardSession | None = None) -> None:
        """Connect, and again whenever that ends.

        It begins with this session, if given. When it is cancelled, its session can be resumed
        elsewhere.
        """
        wait = self._first_wait
        while True:
            began = monotonic()
            why = await self._run_client(session)
            if self._was_opened:
                session = None  # what ended the client may be in it
            if monotonic() - began > STABLE_SECONDS:
                wait = self._first_wait
            delay = wait * random.uniform(0.5, 1.5)
            LOG.warning("the connection to Discord ended (%s); a new one in %.1f s", why, delay)
            await asyncio.sleep(delay)
            wait = min(wait * 2, LONGEST_WAIT)

    async def _run_client(self, session: ShardSession | None) -> str:
        """One client's life; why it ended."""
        client = self._make(self._shard, self, session, self._may_identify)
        self._opened_at = None
        self._was_opened = self.tells_all = False
        self._listener.on_state(self._shard, "lost")
        self.client = client
        self._heard_at = monotonic()
        connecting = asyncio.get_running_loop().create_task(
            client.start(self._token), name=f"connection of shard {self._shard} to Discord"
        )
        try:
            while not connecting.done():
                every = min(CHECK_SECONDS, self._silent / 4, self._greeting / 4)
                await asyncio.wait([connecting], timeout=every)
                if monotonic() - self._heard_at > self._silent and not self._waits_for_gate:
                    return f"silent for {self._silent:.0f} s"
                if self._opened_at and monotonic() - self._opened_at > self._greeting:
                    return f"not greeted for {self._greeting:.0f} s"
        except asyncio.CancelledError:
            await _bounded(client.leave())
            raise
        finally:
            await _bounded(client.close())
            connecting.cancel()
            await asyncio.wait([connecting], timeout=CLOSE_SECONDS)
        return self._end_reason(connecting)

    async def _may_identify(self) -> None:
        self._waits_for_gate = True
        try:
            await self._gate(self._shard)
        finally:
            self._waits_for_gate = False
            self._heard_at = monotonic()

    def on_frame(self, text: str) -> None:
        """Discord sent this."""
        self._heard_at = monotonic()
        self._listener.on_frame(self._shard, text)

    def on_state(self, state: ConnectionState) -> None:
        """The connection has a new state."""
        opened = state == "opened"
        self._opened_at = monotonic() if opened else None
        self._was_opened = self._was_opened or opened
        self.tells_all = self.tells_all or state == "greeted"
        if not opened:
            self._listener.on_state(self._shard, state)

    def _end_reason(self, connecting: asyncio.Task[None]) -> str:
        if connecting.cancelled():
            return "cancelled"
        match connecting.exception():
            case None:
                return "closed"
            case AuthError() as error:
                raise error
            case LoginFailure() | ConnectionClosed(code=4004) as error:
                raise AuthError(TOKEN_REFUSED) from error
            case PrivilegedIntentsRequired() | ConnectionClosed(code=4013 | 4014) as error:
                raise AuthError(INTENTS_REFUSED) from error
            case error:
                LOG.error("the client of Discord ended with an error", exc_info=error)
                return type(error).__name__


async def _bounded(closing: Awaitable[None]) -> None:
    """Close a client, whatever state it is in, within a bounded time."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await closing
    except (TimeoutError, OSError, DiscordException) as error:
        LOG.warning("could not close a client of Discord: %r", error)
