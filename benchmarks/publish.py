"""Write the results to docs/benchmarks: a page, JSON, and plots."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from benchmarks.plots import Chart, svg
from benchmarks.report import Row, Table, data, markdown

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"
HEAD = """\
# Results

Written by `make bench`; what is measured, and how, is told in [README.md](README.md). A figure is
the median, with the quartiles behind it. A ratio that missed its target is bold.

"""
MEMORY, TIMES = "memory.svg", "times.svg"


def publish(tables: Sequence[Table]) -> list[Path]:
    """Write the files; returns them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    engine = next((table for table in tables if table.title == "Engine"), None)
    charts = {} if engine is None else _charts(engine)
    images = "".join(f"![{chart.title}]({name})\n\n" for name, chart in charts.items())
    files = {
        "results.md": f"{HEAD}{_machine()}\n\n{images}{markdown(tables)}",
        "results.json": json.dumps({"machine": _machine(), "tables": data(tables)}, indent=1)
        + "\n",
        **{name: svg(chart) for name, chart in charts.items()},
    }
    for name, text in files.items():
        (FOLDER / name).write_text(text)
    return [FOLDER / name for name in files]


def _charts(engine: Table) -> dict[str, Chart]:
    """Charts of time per operation, and of memory."""

    def chart(title: str, unit: str, wanted: tuple[str, ...]) -> Chart:
        rows = [row for row in engine.rows if row.unit == unit and row.name.startswith(wanted)]
        return Chart(title=title, columns=engine.columns, rows=[_short(row) for row in rows])

    times = ("turn, round robin of two, model", "hand-off", "tool loop", "selector", "graph",
             "nested", "streaming", "stateless", "100 teams")  # fmt: skip
    return {
        TIMES: chart("Time per operation, logarithmic", "s", times),
        MEMORY: chart(
            "Memory of an idle team of three, logarithmic", "bytes", ("memory of an idle",)
        ),
    }


def _short(row: Row) -> Row:
    name = row.name.replace(", model that does nothing", "").replace(
        "turn, round robin of two", "turn"
    )
    return Row(
        name=name.removeprefix("memory of an idle team of three, "), unit=row.unit, cells=row.cells
    )


def _machine() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    python = platform.python_version()
    return f"Python {python}, {os.cpu_count()} cores of {model}, {platform.system()}."
