"""The gateway's figures: accepting and answering messages, writes and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Figures
from benchmarks.report import Row, Table, Target

ROOT = Path(__file__).parents[2]
OURS, OTHER = "gateway", "against"
MESSAGES = 2000
"""That should be answered in a second."""


def run(*, quick: bool) -> Table:
    """Measure. Takes about ten seconds, or two minutes."""
    table = Table(title="Gateway", columns=(OURS, OTHER), ratio="ratio")
    table.rows += _accept(10 if quick else 50)
    table.rows += _first_event(30 if quick else 200)
    table.rows += _end_to_end(100 if quick else 1000)
    table.rows += _trickle(3 if quick else 20)
    table.rows += _build(200 if quick else 2000)
    table.rows += _memory(500 if quick else 10_000)
    table.rows += _written([20, 200] if quick else [20, 200, 2000])
    table.rows += _figures(20_000 if quick else 1_000_000)
    return table


def _measured(name: str, *arguments: object) -> dict[str, list[float]]:
    print(f"  {name}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gateway.scenarios", name, *map(json.dumps, arguments)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout)


def _accept(each: int) -> list[Row]:
    found = _measured("accept", each)
    units = {"messages per commit": ""}
    targets = {
        "seconds per message": Target(at_least=5),
        "messages per commit": Target(at_least=8),
    }
    rows = [
        Row(
            name=f"accept, 64 senders at once, {what}",
            unit=units.get(what, "s"),
            cells={
                OURS: Figures.of(found[f"grouped: {what}"]),
                OTHER: Figures.of(found[f"alone: {what}"]),
            },
            over=[] if what == "messages per commit" else [(OTHER, OURS)],
            target=targets.get(what),
            note="against: one commit per message",
        )
        for what in ("seconds per message", "messages per commit", "p50")
    ]
    late = Row(
        name="accept, 64 senders at once, p99",
        unit="s",
        cells={OURS: Figures.of(found["grouped: p99"]), OTHER: Figures.of(found["alone: p99"])},
        over=[(OTHER, OURS)],
        note="below 0.25 s",
    )
    return [*rows, late]


def _first_event(count: int) -> list[Row]:
    found = _measured("first_event", count)
    names = {
        "accepted": "accept, one sender, until it is on disk",
        "turn_started": "  until the first event is seen",
        "message_finished": "  until the answer is seen",
        "turn_finished": "  until the turn is over",
    }
    return [_row(name, "s", found[kind]) for kind, name in names.items()]


def _end_to_end(threads: int) -> list[Row]:
    live = _measured("end_to_end", threads, threads)
    evicted = _measured("end_to_end", threads, threads // 10)
    silent = _measured("end_to_end", threads, threads, False)
    note = "against: nine of ten teams are loaded anew"
    log = Row(
        name=f"{threads:,} threads x 5 messages, CPU per message with its log",
        unit="s",
        cells={
            OURS: Figures.of(live["CPU per message"]),
            OTHER: Figures.of(silent["CPU per message"]),
        },
        over=[(OURS, OTHER)],
        note="against: without a log",
    )
    rows = [
        Row(
            name=f"{threads:,} threads x 5 messages, {what}",
            unit="bytes" if "resident" in what else "" if "commit" in what else "s",
            cells={OURS: Figures.of(live[what]), OTHER: Figures.of(evicted[what])},
            target=Target(at_most=1 / MESSAGES) if what == "seconds per message" else None,
            note=note,
        )
        for what in live
    ]
    return [*rows, log]


def _trickle(seconds: float) -> list[Row]:
    found = _measured("trickle", seconds)
    return [
        Row(
            name=f"20 messages a second, {what}",
            unit="s" if what == "CPU per message" else "",
            cells={OURS: Figures.of(samples)},
            target=Target(at_most=0.003) if what == "CPU per message" else None,
        )
        for what, samples in found.items()
    ]


def _build(count: int) -> list[Row]:
    found = _measured("build", count)
    names = {"solo": "one assistant", "tools": "three with a tool each, and a selector"}
    return [
        _row(f"a thread's team of a config, {name}", "s", found[team])
        for team, name in names.items()
    ]


def _memory(threads: int) -> list[Row]:
    many, few = (_measured("memory", count, 20)["resident"] for count in (threads, 100))
    return [
        Row(
            name=f"resident, {threads:,} threads x 20 messages, 100 live teams",
            unit="bytes",
            cells={OURS: Figures.of(many), OTHER: Figures.of(few)},
            note="against: 100 threads",
        ),
        Row(
            name="  against 100 threads",
            unit="times",
            cells={OURS: Figures.of([many[0] / few[0]])},
            target=Target(at_most=1.2),
        ),
    ]


def _written(sizes: list[int]) -> list[Row]:
    found = _measured("written", sizes)
    rows = [
        _row(f"bytes written by a turn, {n:,} messages", "bytes", found[f"{n}: bytes"])
        for n in sizes
    ]
    first, last = (Figures.of(found[f"{n}: bytes"]).median for n in (sizes[0], sizes[-1]))
    rows.append(
        Row(
            name=f"  {sizes[-1]:,} messages against {sizes[0]:,}",
            unit="times",
            cells={OURS: Figures.of([last / first])},
            target=Target(at_most=1.5),
        )
    )
    return [*rows, _row("commits of a turn", "", found[f"{sizes[-1]}: commits"])]


def _figures(messages: int) -> list[Row]:
    found = _measured("figures", messages)
    return [
        Row(
            name=f"{what} over {messages:,} messages",
            unit="s",
            cells={OURS: Figures.of(samples)},
            target=Target(at_most=0.02),
        )
        for what, samples in found.items()
    ]


def _row(name: str, unit: str, samples: list[float]) -> Row:
    return Row(name=name, unit=unit, cells={OURS: Figures.of(samples)})
