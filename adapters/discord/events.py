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
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.discord")

DISPATCH, HELLO = 0, 10

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
        self._catching = 0
        self._ready_at = -TOGETHER
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.heard_at = heard_at
        """Until when everything was heard (seconds since the epoch)."""

    @property
    def taken_until(self) -> float:
        """Until when everything was heard, and what was missed before it was read."""
        return self._since if self._catching else self.heard_at

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
        if not self._catching and now - self._ready_at > TOGETHER:
            self._since = self.heard_at
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
                self._begin(event, "", lambda: self._caught_up(listener.ready(since)))
            case "GUILD_CREATE":
                since = self._since
                self._begin(event, "", lambda: self._caught_up(listener.guild(data, since)))
            case _:
                return

    def _begin(self, event: str, channel: str, work: Work) -> None:
        if event in ("READY", "GUILD_CREATE"):
            self._catching += 1
        taking = self._take(event, channel, work)
        try:
            self._group.create_task(taking, name=f"takes {event}")
        except RuntimeError:  # the adapter ends, and the connection does not know of it yet
            taking.close()

    async def _caught_up(self, reading: Coroutine[Any, Any, None]) -> None:
        try:
            await reading
        finally:
            self._catching -= 1

    async def _take(self, event: str, channel: str, work: Work) -> None:
        try:
            if not channel:
                await work()
                return
            async with self._locks.setdefault(channel, asyncio.Lock()):
                await work()
        except AuthError:
            raise
        except GatewayError as error:
            LOG.error("%s was not taken: %s", event, error)  # noqa: TRY400 (the text says it all)
        except Exception:  # whatever Discord sends ends no more than its own event
            LOG.exception("%s can't be read", event)


def own_roles(me: Me, roles: frozenset[str]) -> Me:
    """The bot, with its roles in a server."""
    return Me(user=me.user, application=me.application, roles=roles)
