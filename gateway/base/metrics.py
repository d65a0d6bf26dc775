"""Figures of a running gateway, without ids and texts.

Labels are names of the config, of tools that the teams have, or of closed sets: never of people,
threads or texts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import monotonic

from prometheus_client import Histogram, disable_created_metrics

from gateway.base.connections import Connections

MOST_REMARKS = 5

disable_created_metrics()  # a series more for each, which nobody asks for

_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
"""Bounds in seconds for what this machine does alone."""
_SLOW = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
"""Bounds in seconds for what models, tools and platforms take part in."""


@dataclass(slots=True)
class BackupFigures:
    """Scheduled backups, one in `every` so many seconds.

    The last good one was begun `at` (seconds since the epoch; 0 for none) and has `size` bytes; the
    last one of this process took `seconds`. `trouble` is a sentence for operators, or "".
    """

    every: float
    at: float = 0.0
    size: int = 0
    seconds: float | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """Answers that wait for one limit, the oldest in seconds."""

    adapter: str
    limit: str
    threads: int
    oldest: float


class Metrics:
    """Counters and histograms, by a steady `clock` in seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self.platforms = Connections(clock)
        """Connections to platforms."""
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
        self.waits = defaultdict[str, float](float)
        """Seconds that platforms asked to wait, by platform."""
        self.dead_ends: Counter[str] = Counter()
        """People who can't be answered where they asked: "told" so directly, or "untold"."""
        self.turns: Counter[str] = Counter()
        """Runs of turns by how they ended."""
        self.tools: Counter[tuple[str, str]] = Counter()
        """Tool calls by tool and outcome; "" is the tool of calls of tools that no agent has."""
        self.tokens: Counter[tuple[str, str, str]] = Counter()
        """Tokens by team, model and direction: read ("input") and written ("output")."""
        self.costs = defaultdict[tuple[str, str], float](float)
        """Their cost by the config's prices, by team and model."""
        self.model_errors: Counter[tuple[str, str]] = Counter()
        """Requests that failed, by model and kind of error."""
        self.model_retries: Counter[str] = Counter()
        """Requests to a model after a failed one of the same turn; not those of its SDK."""
        self.substitutions: Counter[tuple[str, str, str]] = Counter()
        """Answers of another model: the one that was missed, the one that answered, and why."""
        self.stalls = 0
        """Times that the event loop stood still."""
        self.stalled_seconds = 0.0
        """Seconds that it stood still together."""
        self.lag = 0.0
        """Seconds for which the event loop was last waited for."""
        self.backup: BackupFigures | None = None
        """The scheduled backups; None without any."""
        self.backup_failures = 0
        """Backups that were due and failed."""
        self.lacks: list[str] = []
        """Sentences about what this process has to do without."""
        self.first_text = _histogram(
            "first_text", "Seconds from a turn's begin to its first text.", _SLOW, "team"
        )
        self.first_visible_text = _histogram(
            "first_visible_text",
            "Seconds from a message's acceptance to the first text that is shown.",
            _SLOW,
            "adapter",
        )
        self.turn = _histogram("turn", "Seconds that turns took.", _SLOW, "team")
        self.model = _histogram("model", "Seconds until a model has answered.", _SLOW, "model")
        self.delivery = _histogram(
            "delivery", "Seconds from a message's first try to its delivery.", _SLOW, "adapter"
        )
        self.commit = _histogram("commit", "Seconds until a transaction is on disk.", _QUICK)
        self._remarks: dict[str, float] = {}
        self._owing: dict[str, tuple[str, str, float]] = {}

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        """All of them."""
        return tuple(each for each in vars(self).values() if isinstance(each, Histogram))

    @property
    def uptime(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def took(self, team: str, ended: str, seconds: float) -> None:
        """A team's turn has left its lane after so many seconds."""
        self.turns[ended] += 1
        self.turn.labels(team).observe(seconds)

    def used(self, team: str, model: str, read: int, written: int, cost: float) -> None:
        """A model has answered a team."""
        self.tokens[team, model, "input"] += read
        self.tokens[team, model, "output"] += written
        self.costs[team, model] += cost

    def substituted(self, missed: str, answered: str, because: str) -> None:
        """Another model has answered in place of one that is not available."""
        self.substitutions[missed, answered, because] += 1
        self.remark(f"model {missed}", f"{answered} answers in its place ({because})")

    def stalled(self, seconds: float) -> None:
        """The event loop stood still for so many seconds."""
        self.stalls += 1
        self.stalled_seconds += seconds

    def remark(self, origin: str, text: str) -> None:
        """Tell the operator about a refusal, without words of people."""
        said = f"{origin}: {text}"
        self._remarks.pop(said, None)
        self._remarks[said] = self._clock()
        if len(self._remarks) > MOST_REMARKS:
            del self._remarks[next(iter(self._remarks))]

    def owes(self, thread: str, adapter: str, limit: str) -> None:
        """A thread's next message waits for a limit of its platform."""
        _, _, since = self._owing.get(thread, ("", "", self._clock()))
        self._owing[thread] = (adapter, limit, since)

    def paid(self, thread: str) -> None:
        """A thread's next message waits no more."""
        self._owing.pop(thread, None)

    @property
    def owed(self) -> list[Owed]:
        """The answers that wait, by platform and limit."""
        begun = defaultdict[tuple[str, str], list[float]](list)
        for adapter, limit, since in self._owing.values():
            begun[adapter, limit].append(since)
        return [
            Owed(adapter=name, limit=limit, threads=len(all), oldest=self._clock() - min(all))
            for (name, limit), all in sorted(begun.items())
        ]

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


def _histogram(name: str, text: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    """A histogram `parley_NAME_seconds` that no registry has yet."""
    made = Histogram(f"parley_{name}_seconds", text, labels, registry=None, buckets=bounds)
    made.labels = cache(made.labels)  # it takes a lock and more than the observation itself
    return made
