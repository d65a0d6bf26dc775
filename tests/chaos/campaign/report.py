"""Results of campaigns: a table, a file to resume from, explanations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

KINDS = ("lost", "doubled", "misplaced", "unsaid", "came back", "old text", "overwritten", "store")
HEAD = (
    "seed",
    "platform",
    "moves",
    "messages",
    "answered",
    "offered",
    "deleted",
    "counted",
    "broken",
    *KINDS,
    "seconds",
)


@dataclass(frozen=True, slots=True)
class Line:
    """A campaign in the table. `violations` has them in words, by kind.

    `moves` is the number of ends, losses, disturbances and answers that broke off.
    """

    seed: int
    platform: str
    long: bool
    moves: int
    messages: int
    outcomes: dict[str, int]
    violations: dict[str, list[str]]
    seconds: float

    @property
    def key(self) -> tuple[int, str, bool]:
        """The campaign that it is about."""
        return self.seed, self.platform, self.long

    @property
    def correct(self) -> bool:
        """True without violations."""
        return not any(self.violations.values())

    @property
    def command(self) -> str:
        """The command that runs it again."""
        long = " --long" if self.long else ""
        command = "python -m tests.chaos.campaign"
        return f"{command} --seed {self.seed} --platform {self.platform}{long}"

    def cells(self) -> list[str]:
        """Its row."""
        outcomes = [self.outcomes.get(name, 0) for name in HEAD[4:9]]
        counts = [len(self.violations.get(kind, ())) for kind in KINDS]
        figures = (self.moves, self.messages, *outcomes, *counts, f"{self.seconds:.0f}")
        return [str(self.seed), self.platform, *map(str, figures)]


def table(lines: Iterable[Line]) -> str:
    """A Markdown table, a row for each campaign and one for all."""
    rows = sorted(lines, key=lambda line: (line.platform, line.seed))
    total = Line(
        seed=len(rows),
        platform="all",
        long=False,
        moves=sum(line.moves for line in rows),
        messages=sum(line.messages for line in rows),
        outcomes={name: sum(line.outcomes.get(name, 0) for line in rows) for name in HEAD[4:9]},
        violations={
            kind: [v for line in rows for v in line.violations.get(kind, ())] for kind in KINDS
        },
        seconds=sum(line.seconds for line in rows),
    )
    body = [HEAD, ["---"] * len(HEAD), *(line.cells() for line in (*rows, total))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in body)


def explain(line: Line, trace: Sequence[str]) -> str:
    """The violations of a campaign, their steps, and its command."""
    said = [f"{kind}: {each}" for kind, found in line.violations.items() for each in found]
    numbers = {int(n) for each in said for n in re.findall(r"^[a-z ]+: m?(\d+)", each)}
    numbers |= {int(n) for each in said for n in re.findall(r"\bm(\d{4})", each)}
    shown = [step for step in trace if _concerns(step, numbers)]
    return "\n".join([*said, *shown, f"Again: {line.command}"])


def _concerns(step: str, numbers: set[int]) -> bool:
    named = {int(n) for n in re.findall(r"(?:n|thread)=(\d+)", step)}
    return not named or bool(named & numbers)


class Results:
    """A file with a line for each campaign that is done."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def lines(self) -> list[Line]:
        """The campaigns so far."""
        if not self._file.exists():
            return []
        return [Line(**json.loads(each)) for each in self._file.read_text().splitlines()]

    def is_done(self, seed: int, platform: str, *, long: bool) -> bool:
        """True if the campaign is there and was correct."""
        return any(each.correct for each in self.lines() if each.key == (seed, platform, long))

    def add(self, line: Line) -> None:
        """Write a campaign down, in the place of an earlier run."""
        others = [each for each in self.lines() if each.key != line.key]
        text = "".join(f"{json.dumps(asdict(each))}\n" for each in (*others, line))
        self._file.write_text(text)
