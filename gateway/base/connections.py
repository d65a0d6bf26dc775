"""Connections to platforms: made, heard from, silent, or over."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

STALE = 120.0
"""Seconds without a frame after which a platform's connection counts as dead; all of them send
something more often.
"""

LOG = logging.getLogger("gateway")

STRANGERS = (
    "another process uses its token, so that each gets a part of what people write: end it, or "
    "give both the same store"
)

Life = Literal["connecting", "connected", "silent", "stopped"]


@dataclass(slots=True)
class _Pulse:
    changed_at: float
    """When it began, ended, or its connection was last made or lost."""
    running: bool = True
    open: bool = True
    """False while an adapter says that its connection is not."""
    frame_at: float | None = None
    heard_since: float = 0.0
    """When the first frame came after none or a long silence."""


class Connections:
    """State of each platform's connection, by a steady `clock` in seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pulses: dict[str, _Pulse] = {}
        self.strangers = Counter[str]()
        """Others that use an account's token beside the store's nodes."""

    def began(self, adapter: str) -> None:
        """The connection to a platform is being made."""
        self._pulses[adapter] = _Pulse(self._clock())

    def ended(self, adapter: str) -> None:
        """A platform is no longer served."""
        pulse = self._pulses[adapter]
        pulse.running, pulse.changed_at = False, self._clock()

    def note(self, adapter: str, *, is_open: bool) -> None:
        """The connection to a platform was made, or lost."""
        pulse = self._pulse(adapter)
        if pulse.open != is_open:
            pulse.open, pulse.changed_at = is_open, self._clock()

    def frame(self, adapter: str) -> None:
        """Something came in from a platform, be it a heartbeat."""
        pulse, now = self._pulse(adapter), self._clock()
        if pulse.frame_at is None or now - pulse.frame_at >= STALE:
            pulse.heard_since = now
        pulse.frame_at = now

    def note_strangers(self, adapter: str, found: int) -> str:
        """Note others with an account's token; the words for it, or ""."""
        if found and not self.strangers[adapter]:
            LOG.warning("%s: %s", adapter, STRANGERS)
        self.strangers[adapter] = found
        return STRANGERS if found else ""

    def _pulse(self, adapter: str) -> _Pulse:
        return self._pulses.setdefault(adapter, _Pulse(self._clock()))

    def frames(self) -> dict[str, tuple[Life, float | None]]:
        """Each platform's connection, and the age of its last frame in seconds."""
        now = self._clock()
        return {
            name: (_life(pulse, now)[0], None if pulse.frame_at is None else now - pulse.frame_at)
            for name, pulse in self._pulses.items()
        }

    def states(self) -> dict[str, tuple[Life, float]]:
        """Each platform's connection, and the seconds that it has been so."""
        now = self._clock()
        found = {name: _life(pulse, now) for name, pulse in self._pulses.items()}
        return {name: (life, now - since) for name, (life, since) in found.items()}

    @property
    def ready(self) -> bool:
        """Every platform that is served is heard from."""
        return all(life == "connected" for life, _ in self.frames().values())


def _life(pulse: _Pulse, now: float) -> tuple[Life, float]:
    """The state of a connection, and since when."""
    if not pulse.running:
        return "stopped", pulse.changed_at
    if not pulse.open or pulse.frame_at is None:
        return "connecting", pulse.changed_at
    if now - pulse.frame_at >= STALE:
        return "silent", pulse.frame_at
    return "connected", max(pulse.changed_at, pulse.heard_since)
