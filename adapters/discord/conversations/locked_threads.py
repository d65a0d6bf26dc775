"""Threads that a moderator locked: nothing is written there.

Discord refuses a bot without rights. One that may manage threads would write all the same, and
reopen the thread; so what events and answers tell of threads is kept, and an unknown one looked up.
A node that does not hear all events believes what it knows for some seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from adapters.bounded_cache import BoundedCache
from adapters.discord.connection.rest import Rest
from adapters.discord.connection.values import THREADS, Payload
from gateway.surface import CallRejected

BELIEVED_SECONDS = 10.0
LOCKED = "A moderator locked the thread."


class LockedThreads:
    """Knows of each thread whether it is locked.

    `hears_all`: all events of threads come to this node.
    """

    def __init__(self, rest: Rest, hears_all: Callable[[], bool]) -> None:
        self._rest = rest
        self._hears_all = hears_all
        self._known = BoundedCache[str, bool](10_000)

    def learn(self, channel: Payload) -> None:
        """Note a channel that Discord tells of, if it is a thread."""
        if channel.get("type") in THREADS:
            self._known.put(str(channel["id"]), is_locked(channel))

    def forget(self) -> None:
        """Forget all threads: events of them may have been missed."""
        self._known = BoundedCache[str, bool](10_000)

    async def check_again(self, thread: str) -> None:
        """Check what Discord says now, whatever was known."""
        self._known.forget(thread)
        await self.check(thread)

    async def check(self, thread: str) -> None:
        """Raise CallRejected for a locked thread, and the errors of calls."""
        locked = self._believed(thread)
        if locked is None:
            channel = await self._rest.call("GET", f"/channels/{thread}")
            if (locked := self._believed(thread)) is None:  # an event meanwhile is newer
                self.learn(channel)
                locked = is_locked(channel)
        if locked:
            raise CallRejected(LOCKED, gone=True, obstacle="locked")

    def _believed(self, thread: str) -> bool | None:
        return self._known.get(thread, inf if self._hears_all() else BELIEVED_SECONDS)


def is_locked(channel: Payload) -> bool:
    """True if a moderator locked the thread."""
    return bool((channel.get("thread_metadata") or {}).get("locked"))
