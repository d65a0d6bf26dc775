"""Socket Mode: tickets, connections, frames and connection faults."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from aiohttp import ClientConnectionResetError, WSMsgType, web

from adapters.slack.simulator.clock import Clock, Timer
from adapters.slack.simulator.deliveries import Attempt, Deliveries, Delivery
from adapters.slack.simulator.state import Json

MOST_CONNECTIONS = 10
PING_EVERY = 30.0
WARNING_AHEAD = 10.0
CLOSED_AFTER = 10.0
"""Seconds after the demand to connect anew in which a connection that stays is ended."""
APPROXIMATE_LIFE = 3600

DisconnectReason: TypeAlias = Literal["warning", "refresh_requested", "link_disabled"]


@dataclass(eq=False)
class Connection:
    """A socket of the app.

    `mute`: it takes and sends nothing any more, and looks open (half-open). `stubborn`: a CLOSE is
    not answered. `wrong_acks` are acknowledgements of what went out through another socket.
    """

    id: str
    socket: web.WebSocketResponse = field(repr=False)
    request: web.Request = field(repr=False)
    mute: bool = False
    stubborn: bool = False
    open: bool = True
    sent: set[str] = field(default_factory=set, repr=False)
    wrong_acks: list[str] = field(default_factory=list)
    outgoing: asyncio.Queue[str | bytes] = field(default_factory=asyncio.Queue, repr=False)
    ended: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def send(self, frame: Json) -> None:
        """Send a JSON frame."""
        if not self.mute:
            self.outgoing.put_nowait(json.dumps(frame))

    def abort(self) -> None:
        """Reset the TCP connection."""
        if (transport := self.request.transport) is not None:
            transport.abort()


class Sockets:
    """The app's connections.

    An event goes to one of them, by chance from a fixed seed.
    """

    def __init__(
        self,
        clock: Clock,
        deliveries: Deliveries,
        app_id: Callable[[], str],
        changed: Callable[[], None],
    ) -> None:
        self.connections: list[Connection] = []
        self.duplicate = 0
        """So many of the next deliveries go out through two connections."""
        self.stubborn = False
        """New connections do not answer a CLOSE."""
        self.life = float(APPROXIMATE_LIFE)
        """Seconds after which Slack renews a connection."""
        self._clock = clock
        self._deliveries = deliveries
        self._app_id = app_id
        self._changed = changed
        self._tickets: set[str] = set()
        self._choice = random.Random(7)

    @property
    def live(self) -> list[Connection]:
        """The connections that Slack takes to be open, half-open ones among them."""
        return [each for each in self.connections if each.open]

    def ticket(self) -> str:
        """A new ticket, good for one connection."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return ticket

    def send(self, delivery: Delivery, attempt: Attempt) -> bool:
        """Send a delivery through one of the connections."""
        if not (live := self.live):
            return False
        chosen = self._choose(live)
        attempt.via = ",".join(each.id for each in chosen)
        frame: Json = {
            "envelope_id": delivery.id,
            "payload": delivery.payload,
            "type": delivery.kind,
            "accepts_response_payload": delivery.kind != "events_api",
        }
        if delivery.kind == "events_api":
            frame |= {"retry_attempt": attempt.number, "retry_reason": attempt.reason}
        for connection in chosen:
            connection.sent.add(delivery.id)
            connection.send(frame)
        return True

    def disconnect(
        self, reason: DisconnectReason = "refresh_requested", only: Connection | None = None
    ) -> None:
        """Ask the app to connect anew."""
        for connection in self.live if only is None else [only]:
            frame = {"type": "disconnect", "reason": reason, "debug_info": {"host": "simulated"}}
            connection.send(frame)

    def refresh(self) -> None:
        """Renew all connections: a warning, then the demand ten seconds later."""
        for each in self.live:
            self._renew(each)

    def _renew(self, connection: Connection) -> None:
        def demand() -> None:
            if connection.open:
                self.disconnect("refresh_requested", connection)

        def end() -> None:
            if connection.open:
                connection.open = False
                connection.abort()

        self.disconnect("warning", connection)
        self._clock.call_later(WARNING_AHEAD, demand)
        self._clock.call_later(WARNING_AHEAD + CLOSED_AFTER, end)

    def abort(self) -> None:
        """Reset every connection at once."""
        for connection in self.live:
            connection.open = False
            connection.abort()

    async def close(self) -> None:
        """Close every connection as a server that restarts does."""
        for connection in self.live:
            connection.open = False
            await connection.socket.close()

    def end(self) -> None:
        """Let go of every connection, for the simulator's own end."""
        for connection in self.connections:
            connection.ended.set()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The WebSocket of one connection, from hello to its end."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=401, text="invalid ticket")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False, autoclose=False, timeout=0.5)
        await socket.prepare(request)
        number = len(self.connections) + 1
        connection = Connection(f"socket-{number}", socket, request, stubborn=self.stubborn)
        if len(self.live) >= MOST_CONNECTIONS:
            frame = {"type": "disconnect", "reason": "too_many_websockets", "debug_info": {}}
            await socket.send_json(frame)
            await socket.close()
            return socket
        self.connections.append(connection)
        try:
            await self._live(connection)
        finally:
            connection.open = False
            self._changed()
        return socket

    async def _live(self, connection: Connection) -> None:
        connection.send(
            {
                "type": "hello",
                "num_connections": len(self.live),
                "debug_info": {
                    "host": "simulated",
                    "build_number": 1,
                    "approximate_connection_time": int(self.life),
                },
                "connection_info": {"app_id": self._app_id()},
            }
        )
        self._changed()
        stop_pings = self._pings(connection)
        due = max(0.0, self.life - WARNING_AHEAD)
        renewal = self._clock.call_later(due, lambda: self._renew(connection))
        try:
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._write(connection))
                await self._read(connection)
                writing.cancel()
            if connection.stubborn or connection.mute:
                await connection.ended.wait()
            elif not connection.socket.closed:
                await connection.socket.close()
        finally:
            stop_pings()
            renewal.cancel()

    def _choose(self, live: Sequence[Connection]) -> list[Connection]:
        if self.duplicate and len(live) > 1:
            self.duplicate -= 1
            return self._choice.sample(live, 2)
        return [self._choice.choice(live)]

    def _pings(self, connection: Connection) -> Callable[[], None]:
        """Ping it regularly; returns a function that stops that."""
        timer: Timer

        def ping() -> None:
            nonlocal timer
            if not connection.mute:
                connection.outgoing.put_nowait(b"Ping from simulated")
            timer = self._clock.call_later(PING_EVERY, ping)

        timer = self._clock.call_later(PING_EVERY, ping)
        return lambda: timer.cancel()

    async def _write(self, connection: Connection) -> None:
        with contextlib.suppress(ClientConnectionResetError):
            while True:
                frame = await connection.outgoing.get()
                if connection.mute:
                    continue
                if isinstance(frame, bytes):
                    await connection.socket.ping(frame)
                else:
                    await connection.socket.send_str(frame)

    async def _read(self, connection: Connection) -> None:
        """Read frames until the socket ends."""
        while True:
            message = await connection.socket.receive()
            if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED):
                connection.open = False
                self._changed()
                return
            if connection.mute:
                continue
            if message.type == WSMsgType.PING:
                with contextlib.suppress(ClientConnectionResetError):
                    await connection.socket.pong(cast("bytes", message.data))
            elif message.type == WSMsgType.TEXT:
                self._receive(connection, cast("str", message.data))
            elif message.type == WSMsgType.ERROR:
                return

    def _receive(self, connection: Connection, text: str) -> None:
        frame: Any = json.loads(text)
        identity = str(frame.get("envelope_id", ""))
        if identity not in connection.sent:
            connection.wrong_acks.append(identity)
        self._deliveries.ack(identity, frame.get("payload"), connection.id)
