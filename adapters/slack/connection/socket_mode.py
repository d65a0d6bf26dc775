"""Socket Mode: two connections that are never both away at once.

A connection ends instead of renewing itself: its keeper opens the next one before it closes the old
one. The keeper watches when the last frame arrived, a pong included: silence of people is no sign.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.connection.payload import number_at
from adapters.slack.connection.receiver import Receive
from adapters.slack.connection.web_api import SDK_LOG
from adapters.slack.connection.workspace import UNREACHABLE, code_of, unreachable
from gateway.adapter import AuthError
from gateway.base.clock import Clock, sleep
from gateway.base.proxy_connector import failure, platform_session
from gateway.errors import GatewayError
from gateway.surface import PlatformUnreachable, RateLimited

LOG = logging.getLogger("adapters.slack")

SOCKETS = 2
PING_EVERY = 10.0
LOOK_EVERY = 1.0
"""Seconds between two looks at a connection that says nothing: a reset is not told by the SDK."""
STALE = 17.0
"""Seconds without any frame, pongs included, after which a connection counts as deaf."""
CONNECT_SECONDS = 15.0
CLOSE_SECONDS = 2.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
COUNT_SECONDS, COUNT_AGAIN = 60.0, 600.0
"""Seconds between two looks at Slack's count of connections; the second, once others were told of.
"""
AT_ONCE = 64
"""Envelopes that are worked on at a time; the others wait, and Slack delivers them again."""

_REFUSED = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "missing_scope",
        "not_allowed_token_type",
        "not_authed",
        "token_expired",
        "token_revoked",
    }
)

Handler = Callable[[AsyncBaseSocketModeClient, SocketModeRequest], Awaitable[None]]


class _Socket(SocketModeClient):
    """One connection, from its hello to its end."""

    def __init__(
        self, app_token: str, web: AsyncWebClient, handle: Handler, heard: Callable[[], None]
    ) -> None:
        super().__init__(app_token, logger=SDK_LOG, web_client=web, ping_interval=PING_EVERY)
        self.socket_mode_request_listeners.append(handle)
        self.counted = 0
        """Connections of the app by Slack's count, this one included."""
        self.greeted = asyncio.Event()
        self.lost = asyncio.Event()
        self.reason = ""
        self._heartbeat = heard
        self._heard_at = time.monotonic()
        self._last_pong: float | None = None
        self._working: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(AT_ONCE)

    @property
    def age(self) -> float:
        """Seconds since the last frame."""
        if self.last_ping_pong_time != self._last_pong:
            self._last_pong = self.last_ping_pong_time
            self._note()
        return time.monotonic() - self._heard_at

    async def use_proxy(self) -> None:
        """Heed the proxy, and NO_PROXY, which the SDK does not."""
        self.proxy = None
        await self.aiohttp_client_session.close()
        self.aiohttp_client_session = platform_session()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        """Where the SDK would renew the connection: it is over."""
        self.reason = self.reason or "closed"
        self.lost.set()

    async def enqueue_message(self, message: str) -> None:
        """Receive a frame."""
        self._note()
        await super().enqueue_message(message)

    async def process_message(self) -> None:
        """Handle the next frame in a task of this connection."""
        raw = str(await self.message_queue.get())
        message: Any = json.loads(raw) if raw.startswith("{") else {}
        await self._places.acquire()
        work = self.run_message_listeners(message, raw)
        task = asyncio.get_running_loop().create_task(work, name="slack envelope")
        self._working.add(task)
        task.add_done_callback(self._done)

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Handle hello and disconnect; the app handles the rest."""
        match message.get("type"):
            case "hello":
                self.counted = number_at(message, "num_connections")
                self.greeted.set()
            case "disconnect":
                self.reason = str(message.get("reason", "")) or "asked to"
                self.lost.set()
            case _:
                await super().run_message_listeners(message, raw_message)

    async def finish(self) -> None:
        """Close the connection; running work gets a moment to end."""
        self.auto_reconnect_enabled = False
        try:
            if self._working:
                await asyncio.wait(self._working, timeout=CLOSE_SECONDS)
            with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.close()
        finally:
            self.closed = True
            tasks = [self.message_processor, self.current_session_monitor, self.message_receiver]
            running = [*self._working, *(task for task in tasks if task is not None)]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.aiohttp_client_session.close()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._places.release()

    def _note(self) -> None:
        self._heard_at = time.monotonic()
        self._heartbeat()


class Sockets:
    """The connections of one app, whose payloads `receive` takes.

    `heard` is called at each frame; `connected` when the first connection is up after there was
    none. `changed` is told whether there is one.
    """

    def __init__(
        self,
        receive: Receive,
        app_token: str,
        web: Callable[[], AsyncWebClient],
        *,
        heard: Callable[[], None],
        connected: Callable[[], None],
        changed: Callable[[bool], None],
    ) -> None:
        self._receive = receive
        self._app_token = app_token
        self._web = web
        self._heartbeat = heard
        self._connected = connected
        self._changed = changed
        self._live: dict[int, _Socket] = {}
        self._own: set[_Socket] = set()
        """All that are open, those that are being opened or closed included."""
        self._surplus = 0
        """Connections that Slack counted last beside those of this node."""

    async def run(self) -> None:
        """Keep them until cancelled. Raises AuthError."""
        async with asyncio.TaskGroup() as group:
            for number in range(SOCKETS):
                group.create_task(self._keep(number), name=f"slack socket {number}")

    @property
    def open_count(self) -> int:
        """Number of open connections."""
        return sum(not socket.lost.is_set() for socket in self._live.values())

    async def watch(
        self, clock: Clock, nodes: Callable[[], Awaitable[int]], tell: Callable[[int], None]
    ) -> None:
        """Tell of connections that no node of the store holds, until cancelled.

        Slack counts when it greets a connection: so in doubt one is opened anew, and only what two
        looks find is told.
        """
        found = before = 0
        while True:
            await sleep(clock, COUNT_AGAIN if found and before else COUNT_SECONDS)
            try:
                before, found = found, max(0, self._surplus - SOCKETS * (await nodes() - 1))
            except GatewayError as error:
                LOG.info("the store's nodes are not known now: %s", error)
                continue
            tell(found if before else 0)
            if found and self._live:
                socket = next(iter(self._live.values()))
                socket.reason = "counted anew"
                socket.lost.set()

    async def _keep(self, number: int) -> None:
        failures = 0
        try:
            while True:
                try:
                    fresh = await self._open()
                except (PlatformUnreachable, RateLimited) as error:
                    failures += 1
                    LOG.warning("connection %s: %s", number, error)
                    await asyncio.sleep(_wait(failures, error))
                    continue
                failures = 0
                await self._take_over(number, fresh)
                reason = await _wait_for_end(fresh)
                LOG.info("connection %s has ended (%s); opening another one", number, reason)
                if self.open_count == 0:
                    self._changed(False)
                if reason in ("too_many_websockets", "link_disabled"):
                    await self._close(number)
                    await asyncio.sleep(random.uniform(0.5, 1.0) * LONGEST_WAIT / 2)
        finally:
            await self._close(number)

    async def _open(self) -> _Socket:
        """A new connection that Slack has greeted.

        Raises AuthError, PlatformUnreachable or RateLimited.
        """
        web = self._web()
        url = await _address(web, self._app_token)
        socket = _Socket(self._app_token, web, self._handle, self._heartbeat)
        socket.wss_uri = url
        self._own.add(socket)
        try:
            await socket.use_proxy()
            async with asyncio.timeout(CONNECT_SECONDS):
                await socket.connect()
                await _wait_for_hello(socket)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            await self._finish(socket)
            raise PlatformUnreachable(
                f"Slack did not accept the connection ({failure(error)})."
            ) from error
        except BaseException:
            await self._finish(socket)
            raise
        if not socket.greeted.is_set():
            await self._finish(socket)
            raise PlatformUnreachable(f"Slack ended the connection at once ({socket.reason}).")
        self._surplus = socket.counted - len(self._own)
        return socket

    async def _take_over(self, number: int, fresh: _Socket) -> None:
        alone = self.open_count == 0
        old = self._live.get(number)
        self._live[number] = fresh
        LOG.info("connection %s is open", number)
        if alone:
            self._changed(True)
            self._connected()
        if old is not None:
            await self._finish(old)

    async def _close(self, number: int) -> None:
        if (socket := self._live.pop(number, None)) is not None:
            await self._finish(socket)

    async def _finish(self, socket: _Socket) -> None:
        await socket.finish()
        self._own.discard(socket)

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        answer = await self._receive(request.payload)
        if answer is None:
            return
        try:
            await client.send_socket_mode_response(
                SocketModeResponse(request.envelope_id, answer or None)
            )
        except (aiohttp.ClientError, ConnectionError) as error:
            # It is stored: Slack delivers it again, and it is taken for what it is.
            LOG.info("an acknowledgement was not sent (%s)", failure(error))


async def _address(web: AsyncWebClient, app_token: str) -> str:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            answer = await web.apps_connections_open(app_token=app_token)
    except SlackApiError as error:
        why = code_of(error)
        if why in _REFUSED:
            raise AuthError(
                f"Slack refused app_token ({why}): it needs an app-level token with the scope "
                "connections:write."
            ) from error
        if why in ("ratelimited", "rate_limited"):
            raise RateLimited(LONGEST_WAIT / 2) from error
        raise PlatformUnreachable(f"Slack opened no connection ({why}).") from error
    except UNREACHABLE as error:
        raise unreachable(error) from error
    return cast("str", answer["url"])


async def _wait_for_hello(socket: _Socket) -> None:
    """Wait until a connection is greeted, or is over."""
    while not socket.greeted.is_set() and not socket.lost.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY):
                await socket.greeted.wait()
        if not await socket.is_connected():
            return


async def _wait_for_end(socket: _Socket) -> str:
    """Wait until a connection is over, or deaf; why."""
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY):
                await socket.lost.wait()
        if socket.lost.is_set():
            return socket.reason
        if socket.age > STALE or not await socket.is_connected():
            socket.lost.set()
            return "no frame for too long"


def _wait(failures: int, error: Exception) -> float:
    if isinstance(error, RateLimited):
        return error.retry_after
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1))
    return random.uniform(0.5, 1.0) * longest
