"""Figures of a running gateway, without ids and texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

STALE = 120.0
"""Seconds without a frame after which a platform's connection counts as dead; all of them send
something more often.
"""

Life = Literal["connecting", "connected", "silent", "stopped"]


MOST_REMARKS = 5


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


class Metrics:
    """Counters of messages, turns and frames, by a steady `clock` in seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._pulses: dict[str, _Pulse] = {}
        self.accepted: Counter[str] = Counter()
        """Messages by their outcome when they were accepted."""
        self.ignored: Counter[str] = Counter()
        """Events of platforms that adapters dropped, by the reason."""
        self.missed: Counter[str] = Counter()
        """Messages found after a pause: to "answer", to "offer", "too_old", or "refused"."""
        self.parts: Counter[str] = Counter()
        """Messages written to platforms: posted, posted though an earlier try may have arrived
        ("unsure"), or failed.
        """
        self.dead_ends: Counter[str] = Counter()
        """People who can't be answered where they asked: "told" so directly, or "untold"."""
        self.turns: Counter[str] = Counter()
        """Runs of turns by how they ended."""
        self.turn_seconds = 0.0
        """Seconds that they took together."""
        self.tokens: Counter[str] = Counter()
        """Tokens that models read ("input") and wrote ("output")."""
        self.cost = 0.0
        """Their cost by the config's prices."""
        self.substitutions: Counter[tuple[str, str, str]] = Counter()
        """Answers of another model: the one that was missed, the one that answered, and why."""
        self.stalls = 0
        """Times that the event loop stood still."""
        self.stalled_seconds = 0.0
        """Seconds that it stood still together."""
        self.lacks: list[str] = []
        """Sentences about what this process has to do without."""
        self._remarks: dict[str, float] = {}

    @property
    def uptime(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def took(self, ended: str, seconds: float) -> None:
        """A turn has left its lane after so many seconds."""
        self.turns[ended] += 1
        self.turn_seconds += seconds

    def used(self, read: int, written: int, cost: float) -> None:
        """A model has answered."""
        self.tokens["input"] += read
        self.tokens["output"] += written
        self.cost += cost

    def substituted(self, missed: str, answered: str, because: str) -> None:
        """Another model has answered in place of one that is not available."""
        self.substitutions[missed, answered, because] += 1
        self.remark(f"model {missed}", f"{answered} answers in its place ({because})")

    def stalled(self, seconds: float) -> None:
        """The event loop stood still for so many seconds."""
        self.stalls += 1
        self.stalled_seconds += seconds

    def adapter_began(self, adapter: str) -> None:
        """The connection to a platform is being made."""
        self._pulses[adapter] = _Pulse(self._clock())

    def adapter_ended(self, adapter: str) -> None:
        """A platform is no longer served."""
        pulse = self._pulses[adapter]
        pulse.running, pulse.changed_at = False, self._clock()

    def connection(self, adapter: str, *, is_open: bool) -> None:
        """The connection to a platform was made, or lost."""
        pulse = self._pulse(adapter)
        if pulse.open != is_open:
            pulse.open, pulse.changed_at = is_open, self._clock()

    def remark(self, origin: str, text: str) -> None:
        """Tell the operator about a refusal, without words of people."""
        said = f"{origin}: {text}"
        self._remarks.pop(said, None)
        self._remarks[said] = self._clock()
        if len(self._remarks) > MOST_REMARKS:
            del self._remarks[next(iter(self._remarks))]

    @property
    def answers_of_others(self) -> dict[str, int]:
        """The number of answers of one model in the place of another."""
        counts: Counter[str] = Counter()
        for (missed, answered, _), count in self.substitutions.items():
            counts[f"{answered} for {missed}"] += count
        return dict(counts)

    @property
    def remarks(self) -> dict[str, float]:
        """The last text to operators, and its age in seconds."""
        return {said: self._clock() - at for said, at in self._remarks.items()}

    def frame(self, adapter: str) -> None:
        """Something came in from a platform, be it a heartbeat."""
        pulse, now = self._pulse(adapter), self._clock()
        if pulse.frame_at is None or now - pulse.frame_at >= STALE:
            pulse.heard_since = now
        pulse.frame_at = now

    def _pulse(self, adapter: str) -> _Pulse:
        return self._pulses.setdefault(adapter, _Pulse(self._clock()))

    def adapters(self) -> dict[str, tuple[Life, float | None]]:
        """Each platform's connection, and the age of its last frame in seconds."""
        now = self._clock()
        return {
            name: (_life(pulse, now)[0], None if pulse.frame_at is None else now - pulse.frame_at)
            for name, pulse in self._pulses.items()
        }

    def connections(self) -> dict[str, tuple[Life, float]]:
        """Each platform's connection, and the seconds that it has been so."""
        now = self._clock()
        found = {name: _life(pulse, now) for name, pulse in self._pulses.items()}
        return {name: (life, now - since) for name, (life, since) in found.items()}

    @property
    def ready(self) -> bool:
        """Every platform that is served is heard from."""
        return all(life == "connected" for life, _ in self.adapters().values())


def _life(pulse: _Pulse, now: float) -> tuple[Life, float]:
    """The state of a connection, and since when."""
    if not pulse.running:
        return "stopped", pulse.changed_at
    if not pulse.open or pulse.frame_at is None:
        return "connecting", pulse.changed_at
    if now - pulse.frame_at >= STALE:
        return "silent", pulse.frame_at
    return "connected", max(pulse.changed_at, pulse.heard_since)
