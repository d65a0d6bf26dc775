"""Threads that somebody has deleted, while that can still be undone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adapters.terminal.key_guard import KeyClock, Timer

UNDO = 10.0
"""Seconds in which a deletion can be undone."""


class Deletions:
    """Calls `delete` with a thread once nobody can undo it any more."""

    def __init__(self, clock: KeyClock, delete: Callable[[str], object]) -> None:
        self._clock = clock
        self._delete = delete
        self._timers: dict[str, Timer] = {}

    def __contains__(self, thread: str) -> bool:
        return thread in self._timers

    def begin(self, thread: str) -> None:
        """Delete a thread in ten seconds."""
        if thread not in self._timers:
            self._timers[thread] = self._clock.call_later(UNDO, partial(self._due, thread))

    def undo(self) -> str | None:
        """Keep the thread that was deleted last; None if there is none."""
        if not self._timers:
            return None
        thread, timer = self._timers.popitem()
        timer.cancel()
        return thread

    def finish(self) -> list[str]:
        """The threads to delete now, since the process ends."""
        threads = list(self._timers)
        while self.undo():
            pass
        return threads

    def _due(self, thread: str) -> None:
        del self._timers[thread]
        self._delete(thread)
