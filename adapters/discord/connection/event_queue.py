"""Events of the gateway connections, handled in order per channel.

Each frame is parsed on its own: one that can't be read or handled is logged and does not stop the
others. While the store fails, messages are kept and retried. A message that fails for longer is
left to the catch-up. What exceeds the queue is read from Discord's history when the next connection
begins. Each connection (shard) has its own time until which it heard everything.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast
from weakref import WeakValueDictionary

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


class EventHandler(Protocol):
    """Handles events, each as the object that Discord sent."""

    async def on_message(self, payload: Payload) -> None:
        """Somebody wrote something."""
        ...

    async def on_failure(self, channel: str, since: float) -> None:
        """A message that a channel got since then could not be handled."""
        ...

    async def on_edit(self, payload: Payload) -> None:
        """A message has changed."""
        ...

    async def on_deletion(self, payload: Payload) -> None:
        """Messages were deleted."""
        ...

    async def on_interaction(self, payload: Payload) -> None:
        """Somebody did something with a command, a button or a form."""
        ...

    async def on_guild(self, payload: Payload, since: float) -> None:
        """A server can be read. Everything until `since` was heard.

        `since` is in seconds since the epoch.
        """
        ...

    async def on_ready(self, since: float) -> None:
        """A connection begins that does not tell what happened since then."""
        ...

    async def on_thread(self, payload: Payload) -> None:
        """A thread has changed."""
        ...

    def on_malformed(self) -> None:
        """An event could not be read."""
        ...


@dataclass(slots=True)
class _Shard:
    """The state of one connection. Times are seconds since the epoch."""

    heard_at: float
    """Until when everything was heard."""
    since: float
    """Until when that was so as the connection began."""
    live: bool = False
    """It tells what happens now, and owes nothing of before."""
    lost: float = math.inf
    """When the first thing was said that could not be taken."""
    open: dict[int, float] = field(default_factory=dict[int, float])
    """Events being handled, with the times from which they would have to be read again."""
    owed: dict[str, float] = field(default_factory=dict[str, float])
    """Servers of which nothing is told yet, with the times until which they were heard."""

    @property
    def done_until(self) -> float:
        """The time until which every event was handled."""
        return min(self.lost, self.heard_at, *self.open.values(), *self.owed.values())

    def reset(self, guilds: Iterable[str]) -> None:
        """A connection begins that owes what happened before, in these servers, too."""
        self.since = min(self.lost, self.heard_at, *self.open.values())
        self.owed = {guild: min(self.owed.get(guild, self.since), self.since) for guild in guilds}
        self.lost, self.live = math.inf, True


class EventQueue:
    """Parses frames and hands their events to a handler.

    The ConnectionListener of a connection. `heard_at`: the time until which each shard had heard
    everything.
    """

    def __init__(
        self,
        handler: EventHandler,
        group: asyncio.TaskGroup,
        heard_at: Sequence[float],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._handler = handler
        self._group = group
        self._shards = [_Shard(at, at) for at in heard_at]
        self._number = 0
        self._open = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def done_until(self) -> tuple[float, ...]:
        """The times until which each shard has handled everything.

        In seconds since the epoch.
        """
        return tuple(shard.done_until for shard in self._shards)

    def lock(self, channel: str) -> asyncio.Lock:
        """The lock under which events of a channel are handled."""
        return self._locks.setdefault(channel, asyncio.Lock())

    def on_frame(self, text: str) -> None:
        """Handle a frame."""
        try:
            frame = json.loads(text)
            kind, event, data = frame["op"], frame.get("t"), frame.get("d")
            shard = self._shard_of(kind, data)
            if event == "READY" and shard is not None:
                shard.reset(str(each["id"]) for each in data.get("guilds") or ())
            if shard is not None and shard.live:
                shard.heard_at = self._clock()
            if shard is not None and kind == DISPATCH and isinstance(data, Mapping):
                self._dispatch(shard, str(event), cast("Payload", data))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            LOG.warning("could not parse a frame of Discord: %r", error)
            self._handler.on_malformed()

    def on_lost(self, shard: int) -> None:
        """The connection is gone: next come a greeting, or repeated events."""
        self._shards[shard].live = False

    def on_resumed(self, shard: int) -> None:
        """All that was said meanwhile was told."""
        self._shards[shard].live = True
        self._shards[shard].heard_at = self._clock()

    def _shard_of(self, kind: int, data: Any) -> _Shard | None:
        """The shard of a frame, None for the answer to a heartbeat.

        With several shards only events of servers tell theirs; the rest comes over the first.
        """
        if len(self._shards) == 1:
            return self._shards[0]
        if kind != DISPATCH or not isinstance(data, Mapping):
            return None
        event_data = cast("Payload", data)
        if "shard" in event_data:
            return self._shards[int(event_data["shard"][0])]
        guild = event_data.get("guild_id") or (
            event_data.get("id") if "joined_at" in event_data else None
        )
        return self._shards[(int(guild or 0) >> 22) % len(self._shards)]

    def _dispatch(self, shard: _Shard, event: str, data: Payload) -> None:
        handler = self._handler
        channel = str(data.get("channel_id", ""))
        since = shard.since
        match event:
            case "MESSAGE_CREATE":
                self._begin(shard, event, lambda: handler.on_message(data), channel)
            case "MESSAGE_UPDATE":
                self._begin(shard, event, lambda: handler.on_edit(data), channel)
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                self._begin(shard, event, lambda: handler.on_deletion(data), channel)
            case "INTERACTION_CREATE":
                self._begin(shard, event, lambda: handler.on_interaction(data))
            case "THREAD_UPDATE":
                self._begin(shard, event, lambda: handler.on_thread(data))
            case "READY" if shard is self._shards[0]:  # which tells of direct messages, too
                self._begin(shard, event, lambda: handler.on_ready(since), since=since)
            case "GUILD_CREATE" if not data.get("unavailable"):
                since = shard.owed.pop(str(data["id"]), shard.heard_at)
                self._begin(shard, event, lambda: handler.on_guild(data, since), since=since)
            case "GUILD_DELETE" if data.get("unavailable"):  # an outage, of which nothing is told
                shard.owed.setdefault(str(data["id"]), shard.heard_at)
            case "GUILD_DELETE":
                shard.owed.pop(str(data["id"]), None)
            case _:
                return

    def _begin(
        self,
        shard: _Shard,
        event: str,
        work: Work,
        channel: str = "",
        *,
        since: float | None = None,
    ) -> None:
        at = shard.heard_at if since is None else since
        if event in RETRIED and self._open >= MAX_EVENTS:
            _mark_lost(shard, event, at)
            return
        self._number += 1
        taking = self._run_event(shard, event, work, channel, self._number)
        shard.open[self._number] = at
        self._open += 1
        try:
            self._group.create_task(taking, name=f"handles {event}")
        except RuntimeError:  # the adapter ends, and the connection does not know of it yet
            taking.close()

    async def _run_event(
        self, shard: _Shard, event: str, work: Work, channel: str, number: int
    ) -> None:
        try:
            async with self.lock(channel or str(number)):
                await self._persist(event, work)
        except AuthError:
            raise
        except GatewayError as error:
            LOG.error("could not handle %s: %s", event, error)  # noqa: TRY400 (the text says it all)
            if event in RETRIED and not isinstance(error, NotFound | CallRejected):
                await self._give_up(shard, event, channel, shard.open[number])
        except Exception:  # whatever Discord sends ends no more than its own event
            LOG.exception("could not handle %s", event)
            self._handler.on_malformed()
        # Not where it was cancelled: then it is read again at the next start.
        del shard.open[number]
        self._open -= 1

    async def _give_up(self, shard: _Shard, event: str, channel: str, at: float) -> None:
        """Leave a message to the catch-up, the rest to the next connection."""
        if event == "MESSAGE_CREATE":
            try:
                await self._handler.on_failure(channel, at)
            except GatewayError as error:
                LOG.warning("could not note a lost message: %s", error)
            else:
                return
        _mark_lost(shard, event, at)

    async def _persist(self, event: str, work: Work) -> None:
        """Do the work, and retry temporary failures: Discord sends an event once."""
        tried = 0
        while True:
            try:
                await work()
            except (AuthError, GatewayClosed, NotFound, CallRejected):
                raise
            except GatewayError as error:
                refusing = isinstance(error, StoreFull | StoreUnwritable)
                if event not in RETRIED or (tried >= len(RETRY_SECONDS) and not refusing):
                    raise
                wait = RETRY_SECONDS[min(tried, len(RETRY_SECONDS) - 1)]
                LOG.warning("could not handle %s, retry in %g s: %s", event, wait, error)
                await asyncio.sleep(wait)
                tried += 1
            else:
                return


def _mark_lost(shard: _Shard, event: str, at: float) -> None:
    if shard.lost == math.inf:
        LOG.error("from %s on, messages are read with the next connection", event)
    shard.lost = min(shard.lost, at)
