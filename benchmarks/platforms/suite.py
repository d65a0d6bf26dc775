"""Slack's and Discord's figures: delay of answers, intake, cost of text.

The simulator runs in the measured process, so half of its time is not Parley's. Nothing is paid
for a network, and a platform's limits hold as on the platform.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Figures
from benchmarks.report import Row, Table, Target

ROOT = Path(__file__).parents[2]
SLACK, DISCORD = "Slack", "Discord"
FIRST_SHOWN = 0.3
"""Seconds after a model's first token in which people see text; the next tokens come meanwhile."""
STARTS = 12
"""Answers that Slack lets begin to stream in a process, of 20 a minute."""


def run(*, quick: bool) -> Table:
    """Measure. Takes about ten seconds, or two minutes."""
    table = Table(title="Slack and Discord", columns=(SLACK, DISCORD), ratio="")
    table.rows += _start(1 if quick else 7)
    table.rows += _first(1, 4) if quick else _first(8, STARTS)
    table.rows += _burst(300 if quick else 3000)
    for streams in () if quick else (1, 5):
        table.rows += _calls(streams)
    return table


def _measured(platform: str, name: str, count: int) -> dict[str, list[float]]:
    print(f"  {platform.lower()} {name} {count}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.platforms.{platform.lower()}", name, str(count)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout)


def _start(count: int) -> list[Row]:
    found = {platform: _measured(platform, "start", count) for platform in (SLACK, DISCORD)}

    def row(name: str, unit: str, what: str, note: str = "") -> Row:
        cells = {platform: Figures.of(figures[what]) for platform, figures in found.items()}
        return Row(name=name, unit=unit, cells=cells, note=note)

    return [
        row("start of `parley serve`", "s", "start", "from no process to connected"),
        row("  resident then", "bytes", "resident"),
    ]


def _first(processes: int, count: int) -> list[Row]:
    found: dict[str, dict[str, list[float]]] = {SLACK: {}, DISCORD: {}}
    for _ in range(processes):
        for platform, samples in found.items():
            for what, measured in _measured(platform, "first", count).items():
                samples.setdefault(what, []).extend(measured)

    def row(name: str, what: str, note: str = "", part: float | None = None) -> Row:
        cells = {
            platform: Figures.of(_percentile(samples[what], part))
            for platform, samples in found.items()
        }
        return Row(name=name, unit="s", cells=cells, note=note, target=Target(at_most=FIRST_SHOWN))

    return [
        row(
            "event to first call that shows an answer",
            "first",
            "Slack: startStream; Discord: the message, after its thread was made",
        ),
        row("  p99", "first", part=0.99),
        row(
            "  of it from the model's first token on", "token", "half a word; the next 50 ms later"
        ),
        row("  p99", "token", part=0.99),
    ]


def _percentile(samples: list[float], part: float | None) -> list[float]:
    """The one sample at this part of all; without a part, all."""
    return samples if part is None else [sorted(samples)[int(part * (len(samples) - 1))]]


def _burst(count: int) -> list[Row]:
    cells = {
        platform: Figures.of(_measured(platform, "burst", count)["events per second"])
        for platform in (SLACK, DISCORD)
    }
    return [Row(name="events taken per second, in a burst", unit="", cells=cells)]


def _calls(streams: int) -> list[Row]:
    found = {platform: _measured(platform, "calls", streams) for platform in (SLACK, DISCORD)}

    def row(name: str, keys: dict[str, str], at_most: float | None = None) -> Row:
        return Row(
            name=f"{streams} at once: {name}",
            unit="s" if "late" in keys.values() else "",
            cells={
                platform: Figures.of(found[platform][what])
                for platform, what in keys.items()
                if what in found[platform]
            },
            target=None if at_most is None else Target(at_most=at_most),
        )

    def both(what: str) -> dict[str, str]:
        return {SLACK: what, DISCORD: what}

    return [
        row("calls per 1,000 tokens, 100 a second", both("calls")),
        row("  of these pieces of text", {SLACK: "appends", DISCORD: "edits"}),
        row("  most of these in a minute, of a workspace or a channel", both("most a minute"), 100),
        row("  refused for their rate", both("refused"), at_most=0),
        row("  whole text shown after its end", both("late"), at_most=5),
    ]
