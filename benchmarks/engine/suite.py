"""The engine's and AutoGen's figures for the same scripts and outputs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack

from benchmarks.engine.cancel import CANCELS
from benchmarks.engine.scenarios import SCENARIOS, Scenario
from benchmarks.engine.sides import (
    AUTOGEN,
    GATEWAY,
    KINDS,
    PARLEY,
    Samples,
    Worker,
    cancelled,
    check,
    imports,
    sample,
)
from benchmarks.measure import Figures
from benchmarks.report import Row, Table, Target

SIDES = tuple(KINDS)
OURS_ALONE = ("CompactState",)
FASTER = ((AUTOGEN, PARLEY), (AUTOGEN, GATEWAY))
TARGETS = {
    ("Turns", ""): 10,
    ("ReplayTurns", ""): 10,
    ("HandOffs", ""): 10,
    ("Chunks", ""): 25,
    ("Memory", "20 bytes"): 6,
    ("State", "2000 save_state"): 10,
    ("StatelessWorker", "2000 "): 10,
}
FLAT = 1.3


def run(*, quick: bool) -> Table:
    """Measure. Takes about half a minute, or seven minutes.

    Raises AssertionError where the engines do not do the same.
    """
    table = Table(
        title="Engine",
        columns=SIDES,
        ratio=f"{AUTOGEN} / {PARLEY}, / as the gateway runs it",
    )
    table.rows += _imports("what a round robin needs", 3 if quick else 9, everything=False)
    if not quick:
        table.rows += _imports("every public name", 5, everything=True)
    with ExitStack() as stack:
        workers = {side: stack.enter_context(Worker(side)) for side in SIDES}
        for name, scenario in SCENARIOS.items():
            print(f"  {scenario.title}", file=sys.stderr, flush=True)
            table.rows += _scenario(workers, name, scenario, quick=quick)
    table.rows += _cancels(quick=quick)
    return table


def _scenario(
    workers: Mapping[str, Worker], name: str, scenario: type[Scenario], *, quick: bool
) -> list[Row]:
    sides = workers if name not in OURS_ALONE else {PARLEY: workers[PARLEY]}
    sizes = scenario.quick if quick else scenario.sizes
    rows: list[Row] = []
    for size in sizes:
        check(sides, name, size)
        rounds, seconds = (3, 0.0) if quick else (15, scenario.seconds)
        samples = sample(sides, name, size, rounds=rounds, seconds=seconds)
        rows += _rows(name, scenario, size, samples)
    if len(sizes) > 1 and name == "Turns":
        rows.append(_flatness(scenario, rows[0], rows[-1], sizes))
    return rows


def _rows(name: str, scenario: type[Scenario], size: int, samples: Samples) -> list[Row]:
    rows: list[Row] = []
    for figure, by_side in samples.figures.items():
        target = TARGETS.get((name, figure)) or TARGETS.get((name, f"{size} {figure}"))
        rows.append(
            Row(
                name=", ".join(
                    part
                    for part in (
                        scenario.title,
                        f"{size:,} messages" if len(scenario.sizes) > 1 else "",
                        "" if figure == "bytes" else figure,
                    )
                    if part
                ),
                unit="bytes" if "bytes" in figure else "s",
                cells={side: Figures.of(values) for side, values in by_side.items()},
                over=FASTER,
                target=Target(at_least=target) if target else None,
                note=f"per {scenario.per}" if not figure else "",
            )
        )
    return rows


def _flatness(scenario: type[Scenario], first: Row, last: Row, sizes: tuple[int, ...]) -> Row:
    return Row(
        name=f"{scenario.title}, {sizes[-1]:,} messages against {sizes[0]:,}",
        unit="times",
        cells={
            side: Figures.of([last.cells[side].median / first.cells[side].median])
            for side in first.cells
        },
        target=Target(at_most=FLAT),
    )


def _imports(what: str, rounds: int, *, everything: bool) -> list[Row]:
    found = imports((PARLEY, AUTOGEN), rounds, everything=everything)

    def row(name: str, unit: str, field: str, at_least: float | None = None) -> Row:
        return Row(
            name=name,
            unit=unit,
            cells={
                side: Figures.of([float(getattr(one, field)) for one in samples])
                for side, samples in found.items()
            },
            over=[(AUTOGEN, PARLEY)],
            target=Target(at_least=at_least) if at_least else None,
        )

    return [
        row(f"cold import, {what}", "s", "seconds", None if everything else 2.5),
        row("  modules imported", "", "modules"),
        row("  memory it takes", "bytes", "bytes"),
    ]


def _cancels(*, quick: bool) -> list[Row]:
    rows: list[Row] = []
    for name in list(CANCELS)[: 2 if quick else None]:
        print(f"  {name}", file=sys.stderr, flush=True)
        cells = {side: Figures.of([cancelled(side, name)]) for side in (PARLEY, AUTOGEN)}
        rows.append(Row(name=name, unit="s", cells=cells, target=Target(at_most=1.0)))
    return rows
