"""The compared engines, each in its own process that answers requests."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.autogen import environment
from benchmarks.engine import api

ROOT = Path(__file__).parents[2]
PARLEY, GATEWAY, AUTOGEN = "Parley", "Parley, as the gateway runs it", "AutoGen 0.7.5"
KINDS = {PARLEY: "parley", GATEWAY: "hooked", AUTOGEN: "autogen"}


def interpreter(side: str) -> str:
    """The Python that runs a side."""
    return str(environment.python()) if side == AUTOGEN else sys.executable


class Worker:
    """One side's process."""

    def __init__(self, side: str) -> None:
        self._process = subprocess.Popen(
            [interpreter(side), "-m", "benchmarks.engine.worker", KINDS[side]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, do: str, scenario: str, size: int = 0) -> Any:
        """Have something done. Raises RuntimeError where the process ended instead."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"do": do, "scenario": scenario, "size": size}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"A side has failed at {request}; see above.")
        return json.loads(line)


@dataclass(slots=True)
class Samples:
    """Samples of one scenario at one size: by figure, then by side."""

    figures: dict[str, dict[str, list[float]]] = field(
        default_factory=dict[str, dict[str, list[float]]]
    )

    def add(self, side: str, sample: Mapping[str, float]) -> None:
        """One more sample of a side."""
        for name, value in sample.items():
            self.figures.setdefault(name, {}).setdefault(side, []).append(value)


def sample(
    workers: Mapping[str, Worker], scenario: str, size: int, *, rounds: int, seconds: float
) -> Samples:
    """Measure the sides in turn, up to some samples or some time.

    There are three at least, and the side that begins changes.
    """
    samples, sides = Samples(), list(workers)
    end = time.monotonic() + seconds
    for number in range(rounds):
        if number >= 3 and time.monotonic() > end:
            break
        for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
            samples.add(side, workers[side].ask("measure", scenario, size))
    return samples


def check(workers: Mapping[str, Worker], scenario: str, size: int) -> None:
    """Raise AssertionError unless all sides say, ask and keep the same."""
    reports = {side: worker.ask("check", scenario, size) for side, worker in workers.items()}
    first_side, first = next(iter(reports.items()))
    for side, report in reports.items():
        for name, value in report.items():
            if first[name] != value:
                found = _first_difference(first[name], value)
                raise AssertionError(f"{scenario}: {first_side} and {side} differ: {name}, {found}")
        if not report["state kept"]:
            raise AssertionError(f"{scenario}: {side} does not load what it saved.")


def _first_difference(ours: Any, theirs: Any) -> str:
    if isinstance(ours, list) and isinstance(theirs, list):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                return f"number {number}: {_first_difference(one, other)}"
        return f"{len(ours)} and {len(theirs)} of them"
    return f"{ours!r:.500} and {theirs!r:.500}"


@dataclass(frozen=True, slots=True)
class Import:
    """The cost of importing the public API in a fresh process."""

    seconds: float
    modules: int
    bytes: int


def imports(sides: Iterable[str], rounds: int, *, everything: bool) -> dict[str, list[Import]]:
    """Import on each side in turn, once before to fill caches."""
    found: dict[str, list[Import]] = {side: [] for side in sides}
    for _ in range(rounds + 1):
        for side, samples in found.items():
            samples.append(_import(side, everything=everything))
    return {side: samples[1:] for side, samples in found.items()}


def _import(side: str, *, everything: bool) -> Import:
    statements = api.imports("autogen" if side == AUTOGEN else "parley", everything=everything)
    code = "; ".join(
        (
            "import resource, sys, time",
            "resident = lambda: int(open('/proc/self/statm').read().split()[1])",
            "before, held, start = len(sys.modules), resident(), time.process_time()",
            *statements,
            "seconds = time.process_time() - start",
            "print(seconds, len(sys.modules) - before,"
            " (resident() - held) * resource.getpagesize())",
        )
    )
    # Compiled modules are kept, as in any installation.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [interpreter(side), "-c", code],
        cwd=ROOT, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    out = done.stdout.split()
    return Import(float(out[0]), int(out[1]), int(out[2]))


def cancelled(side: str, scenario: str) -> float:
    """Seconds from a cancellation to the run's end, in its own process."""
    with Worker(side) as worker:
        return float(worker.ask("cancel", scenario) or math.inf)
