"""Two-agent chats of Parley and AG2, with one scripted model server."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.autogen import environment
from benchmarks.conversable.scenarios import ANSWERS, SCENARIOS, LongChat
from benchmarks.measure import Figures
from benchmarks.report import Row, Table, Target

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
VENV = FOLDER.parent / ".ag2-venv"
PARLEY, AG2 = "Parley", "AG2 0.8.7"
OURS_ALONE = ("LongChat",)
FASTER = 1
FLAT = 1.3

Ask = Callable[[str, str], Any]


def run(*, quick: bool) -> Table:
    """Measure. Raises AssertionError where the engines do not say the same."""
    table = Table(title="Two-agent chats", columns=(PARLEY, AG2), ratio=f"{AG2} / {PARLEY}")
    theirs = str(environment.make(AG2, VENV, FOLDER / "requirements.txt"))
    with ExitStack() as stack:
        url = stack.enter_context(_server())
        sides = {
            PARLEY: stack.enter_context(_worker(sys.executable, "teams.conversable", url)),
            AG2: stack.enter_context(_worker(theirs, "autogen", url)),
        }
        for name in SCENARIOS:
            print(f"  {SCENARIOS[name].title}", file=sys.stderr, flush=True)
            taken = {PARLEY: sides[PARLEY]} if name in OURS_ALONE else sides
            table.rows.append(_row(name, taken, rounds=3 if quick else 15))
    table.rows.append(_flatness(table.rows))
    return table


def _row(name: str, sides: Mapping[str, Ask], *, rounds: int) -> Row:
    said = {side: ask("check", name) for side, ask in sides.items()}
    assert len({json.dumps(each, sort_keys=True) for each in said.values()}) == 1, (name, said)
    samples: dict[str, list[float]] = {side: [] for side in sides}
    order = list(sides)
    for number in range(rounds):
        for side in order if number % 2 else reversed(order):
            samples[side].append(sides[side]("measure", name))
    both = len(sides) > 1
    return Row(
        name=SCENARIOS[name].title,
        unit="s",
        cells={side: Figures.of(values) for side, values in samples.items()},
        over=[(AG2, PARLEY)] if both else (),
        target=Target(at_least=FASTER) if both else None,
        note="per reply",
    )


def _flatness(rows: list[Row]) -> Row:
    short, long = (
        next(row for row in rows if row.name == SCENARIOS[name].title).cells[PARLEY].median
        for name in ("Functions", "LongChat")
    )
    return Row(
        name=f"a reply in {LongChat.replies:,} against one in 100",
        unit="times",
        cells={PARLEY: Figures.of([long / short])},
        target=Target(at_most=FLAT),
    )


@contextmanager
def _server() -> Generator[str]:
    """Run a scripted model server in a process, and yield its address."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as script:
        script.write(json.dumps(ANSWERS))
        script.flush()
        command = [sys.executable, "-m", "tests.fakes.openai_server", "--script", script.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
            assert process.stdout is not None
            try:
                yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
            finally:
                process.kill()


@contextmanager
def _worker(python: str, module: str, url: str) -> Generator[Ask]:
    """A side's process, and what asks it."""
    command = [python, "-m", "benchmarks.conversable.worker", module, url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as process:
        reading, writing = process.stdout, process.stdin
        assert reading is not None
        assert writing is not None

        def ask(do: str, scenario: str) -> Any:
            writing.write(json.dumps({"do": do, "scenario": scenario}) + "\n")
            writing.flush()
            if not (line := reading.readline()):
                raise RuntimeError(f"{module} has failed at {scenario}; see above.")
            return json.loads(line)

        try:
            yield ask
        finally:
            process.kill()
