"""The events of the gateway connection, taken in the order of their channels.

Each frame is read on its own: one that can't be read, or fails to be taken, is logged and ends
nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol
from weakref import WeakValueDictionary

from adapters.discord.inbound import Me, Payload
from gateway.adapter import AuthError
from gateway.errors import Closing, GatewayError, NotFound
from gateway.surface import Rejected

LOG = logging.getLogger("adapters.discord")

DISPATCH, HELLO = 0, 10

WAITS = (1.0, 3.0, 10.0, 30.0, 60.0)
"""Seconds before each further try to take an event."""
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
        self._ready_at = -TOGETHER
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.heard_at = heard_at
        """Until when everything was heard (seconds since the epoch)."""

    @property
    def taken_until(self) -> float:
        """Until when everything was taken that was to be."""
        return min(self._open.values(), default=self.heard_at)

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
            self._since = self.taken_until
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
        self._number += 1
        self._open[self._number] = self.heard_at if since is None else since
        taking = self._take(event, channel, work, self._number)
        try:
            self._group.create_task(taking, name=f"takes {event}")
        except RuntimeError:  # the adapter ends, and the connection does not know of it yet
            taking.close()

    async def _take(self, event: str, channel: str, work: Work, number: int) -> None:
        try:
            async with self._locks.setdefault(channel or str(number), asyncio.Lock()):
                await self._persist(event, work)
        except AuthError:
            raise
        except GatewayError as error:
            LOG.error("%s was not taken: %s", event, error)  # noqa: TRY400 (the text says it all)
        except Exception:  # whatever Discord sends ends no more than its own event
            LOG.exception("%s can't be read", event)
        # Not where it was cancelled: then it is read again at the next start.
        self._open.pop(number, None)

    async def _persist(self, event: str, work: Work) -> None:
        """Do the work, again where it failed for now: Discord does not tell an event twice."""
        for wait in WAITS if event in AGAIN else ():
            try:
                await work()
            except (AuthError, Closing, NotFound, Rejected):
                raise
            except GatewayError as error:
                LOG.warning("%s was not taken, again in %g s: %s", event, wait, error)
                await asyncio.sleep(wait)
            else:
                return
        await work()


def own_roles(me: Me, roles: frozenset[str]) -> Me:
    """The bot, with its roles in a server."""
    return Me(user=me.user, application=me.application, roles=roles)
