"""The same load on one, two and three nodes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

from benchmarks.measure import Figures
from benchmarks.nodes import scenarios
from benchmarks.report import Row, Table, Target
from benchmarks.stores.suite import SETTINGS
from tests.fakes.postgres_server import PostgresServer

NODES = (1, 2, 3)
TUNED = 2.0
"""`failover_seconds` of those who want it short."""
UNITS = {
    "messages a second": "",
    "connections of a node": "",
    "turns of a killed node": "",
    scenarios.LOAD: "",
}
Found = dict[str, dict[str, list[float]]]
"""Samples by what they are of, then by column."""


def run(*, quick: bool) -> Table:
    """Measure. Takes about two minutes, or ten."""
    table = Table(title="Nodes", columns=[_column(n) for n in NODES], ratio="most nodes / one")
    rounds, threads, seconds, kills = (1, 100, 5, 1) if quick else (3, 200, 10, 6)
    with PostgresServer(SETTINGS) as server:
        loads: Mapping[str, Callable[[int], Awaitable[scenarios.Figures]]] = {
            f"{threads:,} threads x 5 messages": lambda n: scenarios.busy(server, n, threads),
            f"{scenarios.RATE} a second": lambda n: scenarios.paced(server, n, seconds),
        }
        for name, load in loads.items():
            table.rows += _rows(name, _measured(name, load, NODES, rounds))
        for seconds_given in (None, TUNED):
            tuned = "" if seconds_given is None else f", failover_seconds = {seconds_given:g}"
            name = f"a node is killed{tuned}"

            def kill(n: int, given: float | None = seconds_given) -> Awaitable[scenarios.Figures]:
                return scenarios.failover(server, n, kills, given)

            table.rows += _rows(name, _measured(name, kill, NODES[-1:], 1))
    return table


def _measured(
    name: str,
    load: Callable[[int], Awaitable[scenarios.Figures]],
    nodes: Sequence[int],
    rounds: int,
) -> Found:
    found: Found = {}
    for number in range(rounds):
        for count in nodes if number % 2 == 0 else reversed(nodes):
            print(f"  {name}, {_column(count)}", file=sys.stderr, flush=True)

            async def once(count: int = count) -> scenarios.Figures:
                return await load(count)

            figures = asyncio.run(once())
            told = ", ".join(f"{what} {samples[0]:.3g}" for what, samples in figures.items())
            print(f"    {told}", file=sys.stderr, flush=True)
            for what, samples in figures.items():
                found.setdefault(what, {}).setdefault(_column(count), []).extend(samples)
    return found


def _rows(name: str, found: Found) -> list[Row]:
    most, one = _column(NODES[-1]), _column(1)
    return [
        Row(
            name=f"{name}: {what}",
            unit=UNITS.get(what, "s"),
            cells={column: Figures.of(samples) for column, samples in cells.items()},
            over=[(most, one)],
            target=Target(at_least=1.0) if what == "messages a second" else None,
        )
        for what, cells in found.items()
    ]


def _column(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"
