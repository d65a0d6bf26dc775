"""One reaction of the bot on a message: seen, working, done.

It is decoration: it waits for the platform's rate, is left out where a newer one is wanted, and a
failure is logged and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from adapters.bounded_cache import BoundedCache
from adapters.tolerated import tolerated
from gateway.surface import Place, Progress, RateLimited

LOG = logging.getLogger("adapters")

REMEMBERED = 1000


@dataclass(slots=True, kw_only=True)
class Marked:
    """A message with reactions that may stand there, and the wanted one."""

    place: Place
    message: str
    wanted: Progress
    standing: set[Progress] = field(default_factory=set[Progress])

    def next_call(self) -> tuple[Progress, bool] | None:
        """The reaction to add (True), or else to take off."""
        if self.wanted != "off" and self.wanted not in self.standing:
            return self.wanted, True
        return next(((each, False) for each in self.standing if each != self.wanted), None)

    def note(self, progress: Progress, adds: bool) -> None:
        """Note a call as made: what failed is not tried again."""
        (self.standing.add if adds else self.standing.discard)(progress)


React: TypeAlias = Callable[[Marked, Progress, bool], Awaitable[object]]
"""Adds a reaction to a message, or takes it off again."""
Mark: TypeAlias = Callable[[Place, str, Progress, float], None]
"""As `MarkSurface.mark`; a surface without it marks nothing."""


class ProgressMarks:
    """Marks messages of people, one call after the other.

        marks = ProgressMarks(react)

    `clock` gives the seconds since the epoch. What was marked before may have marks of an earlier
    process.
    """

    def __init__(self, react: React, clock: Callable[[], float] = time.time) -> None:
        self._react = react
        self._started = clock()
        self._known = BoundedCache[str, Marked](REMEMBERED)
        self._changed: dict[str, Marked] = {}
        self._woken = asyncio.Event()

    def mark(self, place: Place, message: str, progress: Progress, at: float) -> None:
        """Mark a message soon; too many are not marked."""
        name = f"{place.key} {message}"
        if (marked := self._known.get(name)) is None:
            marked = Marked(place=place, message=message, wanted=progress)
            if at < self._started or progress in ("done", "off"):  # by now forgotten
                marked.standing |= {"seen", "working"}
        marked.wanted = progress
        self._known.put(name, marked)
        self._changed[name] = marked
        if len(self._changed) > REMEMBERED:
            left = self._changed.pop(next(iter(self._changed)))
            LOG.info("message %s is not marked as %s", left.message, left.wanted)
        self._woken.set()

    async def run(self) -> None:
        """Make one call after the other. Raises AuthError."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._changed:
                name, marked = next(iter(self._changed.items()))
                if (call := marked.next_call()) is None:
                    del self._changed[name]
                else:
                    await self._make(marked, *call)

    async def _make(self, marked: Marked, progress: Progress, adds: bool) -> None:
        wait = 0.0
        with tolerated(LOG, f"change the mark of message {marked.message}"):
            try:
                await self._react(marked, progress, adds)
            except RateLimited as error:
                wait = error.retry_after
        if wait:
            await asyncio.sleep(wait)  # another one may be wanted by then
        else:
            marked.note(progress, adds)
