"""SQLite and PostgreSQL under the same gateway, in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from benchmarks.gateway.scenarios import POSTGRES
from benchmarks.measure import Figures
from benchmarks.report import Row, Table, Target
from tests.fakes.postgres_server import PostgresServer

ROOT = Path(__file__).parents[2]
ONE, OTHER = "SQLite", "PostgreSQL"
SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "max_wal_senders": "10",
    "max_wal_size": "1GB",
    "shared_buffers": "128MB",
    "wal_level": "replica",
}
"""PostgreSQL's own; the tests' server has others."""
UNITS = {"messages a second": "", "statements": "", "round trips": "", "commits": ""}
WORDS = {
    "accepted": "40 messages a second, until one is accepted",
    "turn_started": "  until its turn has begun",
    "message_finished": "  until its answer is seen",
}


def run(*, quick: bool) -> Table:
    """Measure. Takes about half a minute, or five."""
    table = Table(title="Stores", columns=(ONE, OTHER), ratio="PostgreSQL / SQLite")
    with PostgresServer(SETTINGS) as server:
        measured = Measured(server.url)
        rounds = 1 if quick else 3
        threads, seconds = (100, 3) if quick else (1000, 20)
        table.rows += _busy(measured.both("busy", threads, rounds=rounds), threads)
        table.rows += _paced(measured.both("paced", seconds, rounds=rounds))
        sizes = [20, 200] if quick else [20, 200, 2000]
        table.rows += _written(measured.both("written", sizes, rounds=1), sizes)
        table.rows += [
            Row(name=f"{what} of a turn", unit="", cells={OTHER: Figures.of(found)})
            for what, found in measured.once("round_trips", 50, kind=OTHER).items()
        ]
        table.rows += [
            Row(
                name=f"a message served in Slack: {what}", unit="", cells={OTHER: Figures.of(found)}
            )
            for what, found in measured.once("served_message", 8, kind=OTHER).items()
        ]
        table.rows.append(_sync())
    return table


class Measured:
    """Runs each scenario in a process of its own, on either database."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers = count()

    def both(self, name: str, argument: object, *, rounds: int) -> dict[str, dict[str, Figures]]:
        """Figures by what they are of, then by the store."""
        found: dict[str, dict[str, list[float]]] = {}
        for number in range(rounds):
            for kind in (ONE, OTHER) if number % 2 == 0 else (OTHER, ONE):
                for what, samples in self.once(name, argument, kind=kind).items():
                    found.setdefault(what, {}).setdefault(kind, []).extend(samples)
        return {
            what: {kind: Figures.of(samples) for kind, samples in each.items()}
            for what, each in found.items()
        }

    def once(self, name: str, argument: object, *, kind: str) -> dict[str, list[float]]:
        """Samples of one run."""
        print(f"  {name}, {kind}", file=sys.stderr, flush=True)
        environment = {**os.environ, POSTGRES: self._database()} if kind == OTHER else None
        program = [sys.executable, "-m", "benchmarks.stores.scenarios", name, json.dumps(argument)]
        done = subprocess.run(
            program, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE
        )
        return json.loads(done.stdout)

    def _database(self) -> str:
        name = f"run_{next(self._numbers)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return urlsplit(self._url)._replace(path=f"/{name}").geturl()


def _busy(found: dict[str, dict[str, Figures]], threads: int) -> list[Row]:
    return [
        Row(
            name=f"{threads:,} threads x 5 messages, {what}",
            unit=UNITS.get(what, "s"),
            cells=cells,
            over=[] if "server" in what else [(OTHER, ONE)],
        )
        for what, cells in found.items()
    ]


def _paced(found: dict[str, dict[str, Figures]]) -> list[Row]:
    return [
        Row(
            name=f"{WORDS[name.partition(': ')[0]]}, {name.partition(': ')[2]}",
            unit="s",
            cells=cells,
            over=[(OTHER, ONE)],
        )
        for name, cells in found.items()
    ]


def _written(found: dict[str, dict[str, Figures]], sizes: Sequence[int]) -> list[Row]:
    rows = [
        Row(
            name=f"bytes written by a turn, {size:,} messages",
            unit="bytes",
            cells=found[str(size)],
            over=[(OTHER, ONE)],
        )
        for size in sizes
    ]
    first, last = (found[str(size)] for size in (sizes[0], sizes[-1]))
    grown = {kind: Figures.of([last[kind].median / first[kind].median]) for kind in (OTHER, ONE)}
    return [
        *rows,
        Row(
            name=f"  {sizes[-1]:,} messages against {sizes[0]:,}",
            unit="times",
            cells=grown,
            target=Target(at_most=1.5),
        ),
    ]


def _sync() -> Row:
    """The time in which the disk keeps 8 KB."""
    samples: list[float] = []
    with tempfile.TemporaryFile() as file:
        for _ in range(100):
            file.write(bytes(8192))
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            samples.append(time.perf_counter() - start)
    figures = Figures.of(samples)
    return Row(name="the disk's sync of 8 KB", unit="s", cells={ONE: figures, OTHER: figures})
