"""Socket Mode: two connections that are never both away at once.

A connection ends instead of renewing itself: its keeper opens the next one before it closes the old
one. Pings tell that it lives: silence of people is no sign.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

import aiohttp
from slack_sdk.errors import SlackApiError

from adapters.slack.config import Config
from adapters.slack.connection.errors import REVOKED, UNREACHABLE, Refused, unreachable
from adapters.slack.connection.payload import Payload, number_at, table_at, text_at
from adapters.slack.connection.receiver import Receive
from adapters.slack.connection.web_api import SlackClients
from gateway.adapter import AuthError
from gateway.base.clock import Clock, sleep
from gateway.base.proxy_connector import failure, platform_session
from gateway.errors import GatewayError
from gateway.surface import PlatformUnreachable, RateLimited

LOG = logging.getLogger("adapters.slack")

SOCKETS = 2
STALE = 15.0
"""Seconds without any frame, pongs included, after which a connection counts as deaf: aiohttp pings
after two thirds of them.
"""
CONNECT_SECONDS = 15.0
CLOSE_SECONDS = 2.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
COUNT_SECONDS, COUNT_AGAIN = 60.0, 600.0
"""Seconds between two looks at Slack's count of connections; the second, once others were told of.
"""
AT_ONCE = 64
"""Envelopes that are worked on at a time; the others wait, and Slack delivers them again."""
MOST_WAITING = 16 * AT_ONCE
"""Envelopes of a connection until nothing more is read of it."""

ENVELOPE = "slack envelope"

_REFUSED = REVOKED | {"missing_scope", "not_allowed_token_type"}


class _Socket:
    """One connection, from its hello to its end; `work` owns its tasks."""

    def __init__(
        self, receive: Receive, heard: Callable[[], None], work: asyncio.TaskGroup
    ) -> None:
        self.counted = 0
        """Connections of the app by Slack's count, this one included."""
        self.lost = asyncio.Event()
        self.reason = "closed"
        self._receive = receive
        self._heartbeat = heard
        self._work = work
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._room = asyncio.Semaphore(MOST_WAITING)

    async def connect(self, session: aiohttp.ClientSession, url: str) -> bool:
        """Connect; False if Slack does not greet."""
        self._ws = ws = await session.ws_connect(url, autoping=False, heartbeat=STALE / 1.5)
        while (frame := await self._next(ws)) is not None:
            if frame.get("type") == "hello":
                self.counted = number_at(frame, "num_connections")
                self._start(self._read(ws), "slack socket reader")
                return True
        return False

    async def finish(self) -> None:
        """Close the connection; running work gets a moment to end."""
        try:
            if working := [each for each in self._tasks if each.get_name() == ENVELOPE]:
                await asyncio.wait(working, timeout=CLOSE_SECONDS)
            await self._hang_up()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._hang_up()  # at once, where the first try was broken off: nobody reads now

    async def _hang_up(self) -> None:
        with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._ws is not None:
                    await self._ws.close()

    async def _next(self, ws: aiohttp.ClientWebSocketResponse) -> Payload | None:
        """The next frame; None once the connection is over."""
        while True:
            frame = await ws.receive()
            match frame.type:
                case aiohttp.WSMsgType.TEXT:
                    self._heartbeat()
                    return self._read_frame(frame.data)
                case aiohttp.WSMsgType.PING:
                    await ws.pong(frame.data)
                case aiohttp.WSMsgType.PONG:
                    pass
                case _:
                    if isinstance(frame.data, aiohttp.ServerTimeoutError):
                        self.reason = "no frame for too long"
                    return None
            self._heartbeat()

    def _read_frame(self, text: str) -> Payload:
        """A frame's payload; what asks to go is noted."""
        try:
            found: Payload = table_at({"frame": json.loads(text)}, "frame")
        except (ValueError, RecursionError):
            return {}
        if found.get("type") == "disconnect":
            self.reason = text_at(found, "reason") or "asked to"
            self.lost.set()
        return found

    async def _read(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        """Hand in what comes, each in a task."""
        try:
            while (frame := await self._next(ws)) is not None:
                if ident := text_at(frame, "envelope_id"):
                    await self._room.acquire()  # while there is none, nothing more is read
                    work = self._hand_in(ws, ident, table_at(frame, "payload"))
                    self._start(work, ENVELOPE)
        except (aiohttp.ClientError, ConnectionError) as error:
            self.reason = failure(error)
        finally:
            self.lost.set()

    async def _hand_in(
        self, ws: aiohttp.ClientWebSocketResponse, ident: str, payload: Payload
    ) -> None:
        """Hand in a payload once there is a place."""
        try:
            async with self._places:
                answer = await self._receive(payload)
        finally:
            self._room.release()
        try:
            if answer is not None:
                told = {"payload": answer} if answer else {}
                await ws.send_json({"envelope_id": ident, **told})
        except (aiohttp.ClientError, ConnectionError) as error:
            # It is stored: Slack delivers it again, and it is taken for what it is.
            LOG.info("an acknowledgement was not sent (%s)", failure(error))

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = self._work.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Sockets:
    """The connections of one app, each to an `address`.

    `receive` takes their payloads. `heard` is called at each frame; `connected` when the first
    connection is up after there was none. `changed` is told whether there is one.
    """

    def __init__(
        self,
        receive: Receive,
        address: Callable[[], Awaitable[str]],
        *,
        heard: Callable[[], None],
        connected: Callable[[], None],
        changed: Callable[[bool], None],
    ) -> None:
        self._receive = receive
        self._address = address
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
        async with (
            platform_session() as session,
            asyncio.TaskGroup() as work,  # it ends after those whose connections do it
            asyncio.TaskGroup() as group,
        ):
            for number in range(SOCKETS):
                keeping = self._keep(number, session, work)
                group.create_task(keeping, name=f"slack socket {number}")

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

    async def _keep(
        self, number: int, session: aiohttp.ClientSession, work: asyncio.TaskGroup
    ) -> None:
        failures = 0
        try:
            while True:
                try:
                    fresh = await self._open(session, work)
                except (PlatformUnreachable, RateLimited) as error:
                    failures += 1
                    LOG.warning("connection %s: %s", number, error)
                    await asyncio.sleep(_wait(failures, error))
                    continue
                failures = 0
                await self._take_over(number, fresh)
                await fresh.lost.wait()
                LOG.info("connection %s has ended (%s); opening another one", number, fresh.reason)
                if self.open_count == 0:
                    self._changed(False)
                if fresh.reason in ("too_many_websockets", "link_disabled"):
                    await self._close(number)
                    await asyncio.sleep(random.uniform(0.5, 1.0) * LONGEST_WAIT / 2)
        finally:
            await self._close(number)

    async def _open(self, session: aiohttp.ClientSession, work: asyncio.TaskGroup) -> _Socket:
        """A new connection that Slack has greeted.

        Raises AuthError, PlatformUnreachable or RateLimited.
        """
        url = await self._address()
        socket = _Socket(self._receive, self._heartbeat, work)
        self._own.add(socket)
        greeted = False
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                greeted = await socket.connect(session, url)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise PlatformUnreachable(
                f"Slack did not accept the connection ({failure(error)})."
            ) from error
        finally:
            if not greeted:
                await self._finish(socket)
        if not greeted:
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


async def socket_address(clients: SlackClients, config: Config) -> str:
    """The address of one connection, good for a moment.

    Raises AuthError, PlatformUnreachable or RateLimited.
    """
    assert config.app_token is not None  # the config has it for this mode
    token = config.app_token.get_secret_value()
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            answer = await clients.new_client().apps_connections_open(app_token=token)
    except SlackApiError as error:
        refused = Refused.of(error)
        if refused.code in _REFUSED:
            raise AuthError(
                f"Slack refused app_token ({refused.code}): it needs an app-level token with the "
                "scope connections:write."
            ) from error
        if (limited := refused.limited) is not None:
            raise limited from error
        hint = ": Socket Mode has to be on" if refused.code == "link_disabled" else ""
        raise PlatformUnreachable(f"Slack opened no connection ({refused.why}){hint}.") from error
    except UNREACHABLE as error:
        raise unreachable(error) from error
    return cast("str", answer["url"])


def _wait(failures: int, error: Exception) -> float:
    if isinstance(error, RateLimited):
        return error.retry_after
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1))
    return random.uniform(0.5, 1.0) * longest
