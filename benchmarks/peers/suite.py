"""Parley beside what people would use instead: the suite `peers`."""

from __future__ import annotations

import asyncio
import sys

from benchmarks.measure import Figures
from benchmarks.peers.scenarios import Samples, calm, crashed, limited, refused
from benchmarks.peers.sides import SIDES, Side
from benchmarks.report import Row, Table

ROWS = (
    ("mention to the first word of a streamed answer", "s", "first"),
    ("Web API calls of a short answer", "", "calls"),
    ("CPU of a short answer", "s", "cpu"),
    ("resident after these answers", "bytes", "memory"),
    ("40 mentions over a kill -9: answered", "", "answered"),
    ("  lost", "", "lost"),
    ("  answered more than once", "", "doubled"),
    ("30 mentions in 6 s under Slack's limits: answered whole", "", "limited"),
    ("  calls refused as too many", "", "too many"),
    ("every fifth call refused: answers whole, of ten", "", "refused"),
    ("tool calls that a stranger's click runs, of one", "", "stranger"),
    ("people and groups notified by the model's text, of three", "", "pings"),
)


def run(*, quick: bool) -> Table:
    """Measure. Takes two minutes or ten, and makes missing environments first."""
    for side in SIDES:
        side.python()
    found = asyncio.run(_measured(SIDES, rounds=1 if quick else 2, count=3 if quick else 6))
    table = Table(title="Parley and peers", columns=[side.name for side in SIDES], ratio="")
    for name, unit, what in ROWS:
        cells = {side: Figures.of(each[what]) for side, each in found.items() if what in each}
        table.rows.append(Row(name=name, unit=unit, cells=cells))
    return table


async def _measured(sides: tuple[Side, ...], *, rounds: int, count: int) -> dict[str, Samples]:
    """Each side's samples; costs in turn, and outcomes beside each other."""
    found: dict[str, Samples] = {side.name: {} for side in sides}
    for _ in range(rounds):
        for side in sides:
            _tell(side, "calm")
            for what, samples in (await calm(side, count)).items():
                found[side.name].setdefault(what, []).extend(samples)
    for side in sides:
        _tell(side, "outcomes")
        for samples in await asyncio.gather(limited(side), refused(side), crashed(side)):
            found[side.name] |= samples
    return found


def _tell(side: Side, what: str) -> None:
    print(f"  {side.name}, {what}", file=sys.stderr, flush=True)
