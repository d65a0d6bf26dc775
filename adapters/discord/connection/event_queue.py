"""Events of the gateway connections, handled in order per channel.

Each frame is parsed on its own: one that can't be read or handled is logged and does not stop the
others. While the store fails, messages are kept and retried. A message that fails for longer is
left to the catch-up. What exceeds the queue is read from Discord's history when the next connection
begins.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, cast
from weakref import WeakValueDictionary

from adapters.discord.connection.shard_progress import SessionProgress, ShardProgress
from adapters.discord.connection.shard_state import DIRECT, ShardState
from adapters.discord.connection.values import Payload
from gateway.adapter import AuthError
from gateway.errors import GatewayClosed, GatewayError, NotFound, StoreFull, StoreUnwritable
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.discord")

DISPATCH = 0

RETRY_SECONDS = (1.0, 3.0, 10.0, 30.0, 60.0)
"""Seconds before each further try to take an event; the last of them over and over while the store
takes nothing.
"""
MAX_EVENTS = 5_000
"""Events that are kept at a time, for later tries."""
RETRIED = frozenset(
    {
        "READY",
        "GUILD_CREATE",
        "MESSAGE_CREATE",
        "MESSAGE_UPDATE",
        "MESSAGE_DELETE",
        "MESSAGE_DELETE_BULK",
    }
)
"""Events that are worth it: an interaction is over after seconds."""

Work = Callable[[], Coroutine[Any, Any, None]]
Handle = Callable[[Payload], Coroutine[Any, Any, None]]


class _Event(NamedTuple):
    """An event that is handled, by its number of ours."""

    shard: ShardProgress
    session: SessionProgress | None
    kind: str
    work: Work
    channel: str
    number: int


class EventHandler(Protocol):
    """Handles events, each as the object that Discord sent."""

    @property
    def handlers(self) -> Mapping[str, Handle]:
        """The handlers of events, by their names."""
        ...

    async def on_failure(self, channel: str, since: float) -> None:
        """A message that a channel got since then could not be handled."""
        ...

    async def on_guild(self, payload: Payload, since: float) -> None:
        """A server can be read. Everything until `since` was heard.

        `since` is in seconds since the epoch.
        """
        ...

    async def on_ready(self, since: float) -> None:
        """A connection begins that does not tell what happened since then."""
        ...

    def on_malformed(self) -> None:
        """An event could not be read."""
        ...


class EventQueue:
    """Parses frames and hands their events to a handler.

    The ConnectionListener of connections.
    """

    def __init__(
        self,
        handler: EventHandler,
        group: asyncio.TaskGroup,
        shards: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._handler = handler
        self._group = group
        self._shards = [ShardProgress(at, at) for at in [clock()] * shards]
        self._number = 0
        self._open = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def begin(self, shard: int, state: ShardState) -> None:
        """Go on from the state that the last holder left."""
        session = state.session
        self._shards[shard] = ShardProgress(
            state.heard,
            state.heard,
            owed=dict(state.owed),
            session=session and SessionProgress(session.id, session.address, session.sequence),
        )

    def state(self, shard: int) -> ShardState:
        """The state of a shard that another process can go on from."""
        return self._shards[shard].state

    def lock(self, channel: str) -> asyncio.Lock:
        """The lock under which events of a channel are handled."""
        return self._locks.setdefault(channel, asyncio.Lock())

    def on_frame(self, shard: int, text: str) -> None:
        """Handle a frame of a shard."""
        try:
            frame = json.loads(text)
            kind, event, data = frame["op"], frame.get("t"), frame.get("d")
            self._note(shard, event, data, int(frame.get("s") or 0))
            if kind == DISPATCH and isinstance(data, Mapping):
                self._dispatch(shard, str(event), cast("Payload", data))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            LOG.warning("could not parse a frame of Discord: %r", error)
            self._handler.on_malformed()

    def _note(self, which: int, event: Any, data: Any, number: int) -> None:
        shard = self._shards[which]
        if event == "READY":
            shard.reset(data, number, first=which == 0)
        elif shard.session is not None:
            shard.session.received = max(shard.session.received, number)
        shard.hear(self._clock())

    def on_lost(self, shard: int) -> None:
        """The connection is gone: next come a greeting, or repeated events."""
        self._shards[shard].lose()

    def on_resumed(self, shard: int) -> None:
        """All that was said meanwhile was told."""
        found = self._shards[shard]
        found.live = True
        found.hear(self._clock())
        if DIRECT in found.owed and not found.looks_at_direct:
            self._begin_direct(found)

    def _begin_direct(self, shard: ShardProgress) -> None:
        """Look for earlier direct messages, which no event tells of."""
        shard.looks_at_direct, since = True, shard.owed[DIRECT]
        self._begin(shard, "READY", lambda: self._look_at_direct(shard, since), since=since)

    async def _look_at_direct(self, shard: ShardProgress, since: float) -> None:
        await self._handler.on_ready(since)
        shard.owed.pop(DIRECT, None)
        shard.looks_at_direct = False

    def _dispatch(self, number: int, event: str, data: Payload) -> None:
        shard = self._shards[number]
        match event:
            case "READY" if number == 0:
                self._begin_direct(shard)
            case "GUILD_CREATE" if not data.get("unavailable"):
                since = shard.owed.pop(str(data["id"]), shard.heard_at)
                self._begin(shard, event, lambda: self._handler.on_guild(data, since), since=since)
            case "GUILD_DELETE" if data.get("unavailable"):  # an outage, of which nothing is told
                shard.owed.setdefault(str(data["id"]), shard.heard_at)
            case "GUILD_DELETE":
                shard.owed.pop(str(data["id"]), None)
            case _:
                if (handle := self._handler.handlers.get(event)) is not None:
                    channel = str(data.get("channel_id", "")) if event.startswith("MESSAGE") else ""
                    self._begin(shard, event, lambda: handle(data), channel)

    def _begin(
        self,
        shard: ShardProgress,
        kind: str,
        work: Work,
        channel: str = "",
        *,
        since: float | None = None,
    ) -> None:
        at = shard.heard_at if since is None else since
        session = shard.session
        if kind in RETRIED and self._open >= MAX_EVENTS:
            shard.mark_lost(session, kind, at, session.received if session else 0)
            return
        self._number += 1
        event = _Event(shard, session, kind, work, channel, self._number)
        taking = self._run_event(event)
        shard.open[self._number] = at
        if session is not None and kind != "READY":
            session.open[self._number] = session.received
        self._open += 1
        try:
            self._group.create_task(taking, name=f"handles {kind}")
        except RuntimeError:  # the adapter ends, and the connection does not know of it yet
            taking.close()

    async def _run_event(self, event: _Event) -> None:
        try:
            async with self.lock(event.channel or str(event.number)):
                await self._persist(event)
        except AuthError:
            raise
        except GatewayError as error:
            LOG.error("could not handle %s: %s", event.kind, error)  # noqa: TRY400 (the text says it all)
            if event.kind in RETRIED and not isinstance(error, NotFound | CallRejected):
                await self._give_up(event)
        except Exception:  # whatever Discord sends ends no more than its own event
            LOG.exception("could not handle %s", event.kind)
            self._handler.on_malformed()
        # Not where it was cancelled: then it is read again at the next start.
        del event.shard.open[event.number]
        if event.session is not None:
            event.session.open.pop(event.number, None)
        self._open -= 1

    async def _give_up(self, event: _Event) -> None:
        """Leave a message to the catch-up, the rest to the next connection."""
        at, session = event.shard.open[event.number], event.session
        if event.kind == "MESSAGE_CREATE":
            try:
                await self._handler.on_failure(event.channel, at)
            except GatewayError as error:
                LOG.warning("could not note a lost message: %s", error)
            else:
                return
        number = session.open.get(event.number, 0) if session else 0
        event.shard.mark_lost(session, event.kind, at, number)

    async def _persist(self, event: _Event) -> None:
        """Do the work, and retry temporary failures: Discord sends an event once."""
        tried = 0
        while True:
            try:
                await event.work()
            except (AuthError, GatewayClosed, NotFound, CallRejected):
                raise
            except GatewayError as error:
                refusing = isinstance(error, StoreFull | StoreUnwritable)
                if event.kind not in RETRIED or (tried >= len(RETRY_SECONDS) and not refusing):
                    raise
                wait = RETRY_SECONDS[min(tried, len(RETRY_SECONDS) - 1)]
                LOG.warning("could not handle %s, retry in %g s: %s", event.kind, wait, error)
                await asyncio.sleep(wait)
                tried += 1
            else:
                return
