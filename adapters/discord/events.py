"""The events of the gateway connection, taken in the order of their channels.

Each frame is read on its own: one that can't be read, or fails to be taken, is logged and ends
nothing. While the store takes nothing, what was said is kept and tried again. What there is no room
for, or fails for longer, is read from Discord's history when the next connection begins.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol
from weakref import WeakValueDictionary

from adapters.discord.inbound import Me, Payload
from gateway.adapter import AuthError
from gateway.errors import Closing, GatewayError, NotFound, StoreFull, StoreUnwritable
from gateway.surface import Rejected

LOG = logging.getLogger("adapters.discord")

DISPATCH, HELLO = 0, 10

WAITS = (1.0, 3.0, 10.0, 30.0, 60.0)
"""Seconds before each further try to take an event; the last of them over and over while the store
takes nothing.
"""
HELD = 5_000
"""Events that are kept at a time, for later tries."""
AGAIN = frozenset(
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

TOGETHER = 60.0
"""Seconds within which connections that begin count as one."""

Work = Callable[[], Coroutine[Any, Any, None]]


class Listener(Protocol):
    """Takes events, each as the object that Discord sent."""

    async def message(self, payload: Payload) -> None:
        """Somebody wrote something."""
        ...

    async def edit(self, payload: Payload) -> None:
        """A message has changed."""
        ...

    async def removal(self, payload: Payload) -> None:
        """Messages were deleted."""
        ...

    async def interaction(self, payload: Payload) -> None:
        """Somebody did something with a command, a button or a form."""
        ...

    async def guild(self, payload: Payload, since: float) -> None:
        """A server can be read; until `since` (seconds since the epoch) it was heard."""
        ...

    async def ready(self, since: float) -> None:
        """A connection begins that does not tell what happened since then."""
        ...

    async def thread(self, payload: Payload) -> None:
        """A thread has changed."""
        ...


class Events:
    """Reads frames, and gives what they say to a listener, in tasks of `group`."""

    def __init__(
        self,
        listener: Listener,
        group: asyncio.TaskGroup,
        heard_at: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._listener = listener
        self._group = group
        self._live = False
        self._since = heard_at
        self._number = 0
        self._open: dict[int, float] = {}
        self._lost = math.inf
        self._ready_at = -TOGETHER
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.heard_at = heard_at
        """Until when everything was heard (seconds since the epoch)."""

    @property
    def taken_until(self) -> float:
        """Until when everything was taken that was to be."""
        return min(self._lost, self.heard_at, *self._open.values())

    def frame(self, text: str) -> None:
        """Take a frame."""
        try:
            frame = json.loads(text)
            kind, event, data = frame["op"], frame.get("t"), frame.get("d")
            self._heard(kind, event)
            if kind == DISPATCH and isinstance(data, Mapping):
                self._dispatch(str(event), data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            LOG.warning("a frame of Discord can't be read: %r", error)

    def _heard(self, kind: int, event: str | None) -> None:
        if kind == HELLO:
            self._live = False
        elif kind == DISPATCH and event in ("READY", "RESUMED"):
            if event == "READY":
                self._begins()
            self._live = True
        if self._live:
            self.heard_at = self._clock()

    def _begins(self) -> None:
        """Of several connections that begin at once, all have missed what the first has."""
        now = time.monotonic()
        if now - self._ready_at > TOGETHER:
            self._since, self._lost = self.taken_until, math.inf
        self._ready_at = now

    def _dispatch(self, event: str, data: Payload) -> None:
        listener = self._listener
        channel = str(data.get("channel_id", ""))
        match event:
            case "MESSAGE_CREATE":
                self._begin(event, channel, lambda: listener.message(data))
            case "MESSAGE_UPDATE":
                self._begin(event, channel, lambda: listener.edit(data))
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                self._begin(event, channel, lambda: listener.removal(data))
            case "INTERACTION_CREATE":
                self._begin(event, "", lambda: listener.interaction(data))
            case "THREAD_UPDATE":
                self._begin(event, "", lambda: listener.thread(data))
            case "READY":
                since = self._since
                self._begin(event, "", lambda: listener.ready(since), since)
            case "GUILD_CREATE":
                since = self._since
                self._begin(event, "", lambda: listener.guild(data, since), since)
            case _:
                return

    def _begin(self, event: str, channel: str, work: Work, since: float | None = None) -> None:
        at = self.heard_at if since is None else since
        if event in AGAIN and len(self._open) >= HELD:
            self._lose(event, at)
            return
        self._number += 1
        self._open[self._number] = at
        taking = self._take(event, channel, work, self._number)
        try:
            self._group.create_task(taking, name=f"takes {event}")
        except RuntimeError:  # the adapter ends, and the connection does not know of it yet
            taking.close()

    def _lose(self, event: str, at: float) -> None:
        if self._lost == math.inf:
            LOG.error("from %s on, what was said is read with the next connection", event)
        self._lost = min(self._lost, at)

    async def _take(self, event: str, channel: str, work: Work, number: int) -> None:
        try:
            async with self._locks.setdefault(channel or str(number), asyncio.Lock()):
                await self._persist(event, work)
        except AuthError:
            raise
        except GatewayError as error:
            LOG.error("%s was not taken: %s", event, error)  # noqa: TRY400 (the text says it all)
            if event in AGAIN and not isinstance(error, NotFound | Rejected):
                self._lose(event, self._open[number])
        except Exception:  # whatever Discord sends ends no more than its own event
            LOG.exception("%s can't be read", event)
        # Not where it was cancelled: then it is read again at the next start.
        self._open.pop(number, None)

    async def _persist(self, event: str, work: Work) -> None:
        """Do the work, again where it failed for now: Discord does not tell an event twice."""
        tried = 0
        while True:
            try:
                await work()
            except (AuthError, Closing, NotFound, Rejected):
                raise
            except GatewayError as error:
                refusing = isinstance(error, StoreFull | StoreUnwritable)
                if event not in AGAIN or (tried >= len(WAITS) and not refusing):
                    raise
                wait = WAITS[min(tried, len(WAITS) - 1)]
                LOG.warning("%s was not taken, again in %g s: %s", event, wait, error)
                await asyncio.sleep(wait)
                tried += 1
            else:
                return


def own_roles(me: Me, roles: frozenset[str]) -> Me:
    """The bot, with its roles in a server."""
    return Me(user=me.user, application=me.application, roles=roles)
