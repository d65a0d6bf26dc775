"""The gateway: clients connect, identify, receive events and resume.

By Discord's pages "Gateway" (Resuming, Disconnections, Rate Limiting, Max Concurrency) and "Opcodes
and Status Codes": a client that closes with 1000 or 1001 ends its session, a resume with a sequence
that the session has not reached is closed with 4007, a lost session is answered by op 9.

Its faults are methods that a test calls: `abort`, `reconnect`, `invalidate`, `malformed` ...
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from adapters.discord.simulator import payloads
from adapters.discord.simulator.connections import Connection
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.intents import HIGHEST, PRIVILEGED, application_flags
from adapters.discord.simulator.session_starts import SessionStarts
from adapters.discord.simulator.sessions import (
    ACK,
    HEARTBEAT,
    HELLO,
    IDENTIFY,
    INVALID_SESSION,
    RECONNECT,
    REQUEST_MEMBERS,
    RESUME,
    Session,
    shard_of,
)
from adapters.discord.simulator.world import Event, World

HEARTBEAT_INTERVAL = 41.25
UNKNOWN_OPCODE, DECODE_ERROR, NOT_AUTHENTICATED, AUTHENTICATION_FAILED = 4001, 4002, 4003, 4004
ALREADY_AUTHENTICATED, INVALID_SEQUENCE, RATE_LIMITED, INVALID_SHARD = 4005, 4007, 4008, 4010
INVALID_INTENTS, DISALLOWED_INTENTS = 4013, 4014
ENDS_SESSION = frozenset({1000, 1001})
"""Codes with which a client says that it will not come back."""


class Gateway:
    """All sessions, and the sockets that they are on.

    `granted` are the privileged intents that the application may ask for, `shards` how many
    connections it is advised to keep, `refused_resumes` how many resumes will be refused; `deaf` is
    how many sign-ins get no answer, as in an outage (libraries report it, Discord's pages do not);
    while it is `down`, nobody can connect, and `turned_away` counts those who try.
    """

    def __init__(self, world: World, token: str) -> None:
        self._world = world
        self._token = token
        world.on_event.append(self.emit)
        self.granted: int = int(PRIVILEGED)
        self.shards = 1
        self.heartbeat_interval = HEARTBEAT_INTERVAL
        self.answers_heartbeats = True
        self.refused_resumes = 0
        self.down = False
        self.deaf = 0
        self.turned_away = 0
        self.url = ""
        self.resume_url = ""
        self.starts = SessionStarts(world.clock)
        """Limits of new sessions."""
        self.identifies = 0
        self.resumes = 0
        self.sessions: dict[str, Session] = {}
        self.connections: list[Connection] = []
        self._duplicates = 0
        self._reordered: list[tuple[Session, Json]] = []
        self._reordering = 0

    @property
    def open_sessions(self) -> list[Session]:
        """The sessions that are on a connection now."""
        return [each for each in self.sessions.values() if each.connection is not None]

    def emit(self, event: Event) -> None:
        """Send an event to every session that receives it.

        Sessions that are away get it when they resume.
        """
        for session in list(self.sessions.values()):
            if not session.can_resume(self._world.clock.now()):
                del self.sessions[session.id]
            elif session.receives(event):
                self._deliver(session, session.dispatch(event.name, session.visible_data(event)))

    def _deliver(self, session: Session, frame: Json) -> None:
        if self._reordering:
            self._reordering -= 1
            self._reordered.append((session, frame))
            if not self._reordering:
                frames, self._reordered = self._reordered[::-1], []
                for each, late in frames:
                    self._send(each, late)
            return
        self._send(session, frame)

    def _send(self, session: Session, frame: Json) -> None:
        if session.connection is None:
            return
        session.connection.send(frame)
        if self._duplicates:
            self._duplicates -= 1
            session.connection.send(frame)

    # Faults

    def abort(self, *, after: int | None = None) -> None:
        """Cut all connections, now or after so many more events."""
        for connection in list(self.connections):
            if after is None:
                connection.abort()
                self._detach(connection)
            else:
                connection.abort_after = after

    def close(self, code: int = 4000) -> None:
        """Close all connections with a code.

        4000 and 4009 can be resumed, 4004 is final.
        """
        for connection in self.connections:
            connection.close(code)
            self._detach(connection)

    def reconnect(self) -> None:
        """Ask all clients to reconnect, as Discord does several times a day."""
        self._broadcast({"op": RECONNECT, "d": None})

    def invalidate(self, *, resumable: bool = False) -> None:
        """Tell all clients that their session is no longer valid."""
        if not resumable:
            self.forget()
        self._broadcast({"op": INVALID_SESSION, "d": resumable})

    def forget(self) -> None:
        """Lose all sessions: a later resume is refused."""
        self.sessions.clear()

    def ask_heartbeat(self) -> None:
        """Ask all clients for a heartbeat at once."""
        self._broadcast({"op": HEARTBEAT, "d": None})

    def duplicate(self, events: int = 1) -> None:
        """Send each of the next events twice."""
        self._duplicates += events

    def reorder(self, events: int = 2) -> None:
        """Hold the next events and send them the other way round."""
        self._reordering = events

    def malformed(self, name: str, data: Any) -> None:
        """Send an event with whatever data."""
        for session in self.open_sessions:
            assert session.connection is not None
            session.connection.send(session.dispatch(name, data))

    def _broadcast(self, frame: Json) -> None:
        for connection in self.connections:
            connection.send(frame)

    # Connections

    async def connect(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a client until it goes."""
        if self.down:
            self.turned_away += 1
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse(autoping=True, max_msg_size=4096 * 16)
        await socket.prepare(request)
        connection = Connection(request, socket)
        self.connections.append(connection)
        hello: Json = {"heartbeat_interval": int(self.heartbeat_interval * 1000)}
        connection.send({"op": HELLO, "d": hello, "s": None, "t": None})
        try:
            async with asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(connection.write())
                await self._read(connection, socket)
                writer.cancel()
        finally:
            self.connections.remove(connection)
            if connection.session is not None and connection.left_with(socket) in ENDS_SESSION:
                self.sessions.pop(connection.session.id, None)
            self._detach(connection)
        return socket

    async def _read(self, connection: Connection, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                return
            if connection.receives_too_much(self._world.clock.now()):
                connection.close(RATE_LIMITED)
            elif (frame := _frame(message.data)) is None:
                connection.close(DECODE_ERROR)
            else:
                self._receive(connection, frame)

    def _detach(self, connection: Connection) -> None:
        session = connection.session
        if session is not None and session.connection is connection:
            session.connection = None
            session.lost_at = self._world.clock.now()

    async def stop(self) -> None:
        """Close all connections, as Discord does when it restarts."""
        self.close(WSCloseCode.GOING_AWAY)

    def _receive(self, connection: Connection, frame: Json) -> None:
        opcode, data = frame.get("op"), frame.get("d")
        handlers: dict[int, Callable[[Connection, Any], None]] = {
            HEARTBEAT: self._heartbeat,
            IDENTIFY: self._identify,
            RESUME: self._resume,
            REQUEST_MEMBERS: self._send_members,
        }
        if opcode in (3, 4):  # presence and voice, which show nowhere here
            return
        if self.deaf and opcode in (IDENTIFY, RESUME):
            self.deaf -= 1
            return
        handler = handlers.get(opcode) if isinstance(opcode, int) else None
        if handler is None:
            connection.close(UNKNOWN_OPCODE)
        elif connection.session is None and handler == self._send_members:
            connection.close(NOT_AUTHENTICATED)
        else:
            handler(connection, data)

    def _heartbeat(self, connection: Connection, data: Any) -> None:
        if self.answers_heartbeats:
            connection.send({"op": ACK})

    def _identify(self, connection: Connection, data: Json) -> None:
        refusal = self._identify_error(connection, data)
        if refusal is not None:
            connection.close(refusal)
            return
        world = self._world
        number, count = data.get("shard") or (0, 1)
        if self.starts.remaining <= 0:  # Discord resets the token, too
            self.forget()
            self.close(AUTHENTICATION_FAILED)
            return
        if not self.starts.admit(number):
            connection.send({"op": INVALID_SESSION, "d": False})
            return
        session = Session(int(data["intents"]), world.bot, (number, count))
        self.identifies += 1
        self._attach(connection, session)
        guilds = [each for each in world.guilds.values() if shard_of(each, count) == number]
        connection.send(session.dispatch("READY", self._ready(session)))
        for guild in guilds:
            if world.bot.id in guild.members:
                connection.send(session.dispatch("GUILD_CREATE", world.guild_create(guild)))

    def _identify_error(self, connection: Connection, data: Json) -> int | None:
        intents = data.get("intents")
        number, count = data.get("shard") or (0, 1)
        if connection.session is not None:
            return ALREADY_AUTHENTICATED
        if data.get("token", "").removeprefix("Bot ") != self._token:
            return AUTHENTICATION_FAILED
        if not isinstance(intents, int) or not 0 <= intents < HIGHEST:
            return INVALID_INTENTS
        if intents & PRIVILEGED & ~self.granted:
            return DISALLOWED_INTENTS
        return None if 0 <= number < count else INVALID_SHARD

    def _attach(self, connection: Connection, session: Session) -> None:
        self.sessions[session.id] = session
        connection.session = session
        session.connection = connection
        session.lost_at = None

    def _ready(self, session: Session) -> Json:
        world = self._world
        count = session.shard[1]
        return {
            "v": 10,
            "user": payloads.own_user(world.bot),
            "guilds": [
                {"id": str(each.id), "unavailable": True}
                for each in world.guilds.values()
                if world.bot.id in each.members and shard_of(each, count) == session.shard[0]
            ],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.resume_url,
            "shard": list(session.shard),
            "application": {"id": str(world.bot.id), "flags": application_flags(self.granted)},
        }

    def _resume(self, connection: Connection, data: Json) -> None:
        session = self.sessions.get(data.get("session_id", ""))
        world = self._world
        if data.get("token", "").removeprefix("Bot ") != self._token:
            connection.close(AUTHENTICATION_FAILED)
            return
        sequence = int(data.get("seq") or 0)
        if session is not None and sequence > session.sequence:
            self.sessions.pop(session.id)
            connection.close(INVALID_SEQUENCE)
            return
        missed = session.events_after(sequence) if session else None
        gone = session is None or not session.can_resume(world.clock.now())
        if self.refused_resumes or gone or missed is None or session is None:
            self.refused_resumes = max(0, self.refused_resumes - 1)
            connection.send({"op": INVALID_SESSION, "d": False})
            return
        self.resumes += 1
        session.resumes += 1
        self._attach(connection, session)
        for frame in missed:
            connection.send(frame)
        connection.send(session.greet("RESUMED", {"_trace": []}))

    def _send_members(self, connection: Connection, data: Json) -> None:
        world, session = self._world, connection.session
        assert session is not None
        guild = world.guilds.get(int(data["guild_id"]))
        if guild is None:
            return
        wanted = {int(each) for each in data.get("user_ids") or []}
        prefix = str(data.get("query") or "")
        found = [
            payloads.member(each)
            for each in guild.members.values()
            if (each.user.id in wanted if wanted else each.user.name.startswith(prefix))
        ]
        chunk: Json = {
            "guild_id": str(guild.id),
            "members": found,
            "chunk_index": 0,
            "chunk_count": 1,
            "nonce": data.get("nonce"),
        }
        connection.send(session.dispatch("GUILD_MEMBERS_CHUNK", chunk))


def _frame(text: str) -> Json | None:
    try:
        frame = json.loads(text)
    except ValueError:
        return None
    return frame if isinstance(frame, dict) else None
