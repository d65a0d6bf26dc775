"""Guards against accidental keys: focus delays and second presses."""

from collections.abc import Callable
from typing import Protocol

QUIET = 1.0
"""Seconds without a key before a card may take the focus by itself."""
INERT = 0.5
"""Seconds after it took the focus in which its keys do nothing."""
SECOND_THOUGHT = 0.35
"""Seconds in which a further key turns a decision back into typing."""


class Timer(Protocol):
    """A call that is due; it can be called off."""

    def cancel(self) -> None:
        """Call it off."""
        ...


class KeyClock(Protocol):
    """Time and timers: an event loop, or a test's clock."""

    def time(self) -> float:
        """Seconds, from any beginning."""
        ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        """Call back after so many seconds."""
        ...


class TypingGuard:
    """Tracks the last key and when the card took the focus."""

    def __init__(self, clock: KeyClock) -> None:
        self._clock = clock
        self._last_key = clock.time() - QUIET
        self._focused_at = clock.time()

    def note_key(self) -> None:
        """A key was pressed, anywhere."""
        self._last_key = self._clock.time()

    def quiet_in(self) -> float:
        """Seconds until typing counts as paused; 0 or less if so."""
        return self._last_key + QUIET - self._clock.time()

    def note_focus(self) -> None:
        """The card took the focus."""
        self._focused_at = self._clock.time()

    def keys_live(self) -> bool:
        """True once the card may react to keys and clicks."""
        return self._clock.time() >= self._focused_at + INERT


class SecondPress:
    """A key that works at its second press within so many seconds."""

    def __init__(self, time: Callable[[], float], within: float) -> None:
        self._time = time
        self._within = within
        self._armed_at = time() - within

    @property
    def armed(self) -> bool:
        """True if the next press is the second one."""
        return self._time() - self._armed_at < self._within

    def press(self) -> bool:
        """True for the second press."""
        second = self.armed
        self._armed_at = self._time() - (self._within if second else 0.0)
        return second
