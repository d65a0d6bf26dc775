"""The results as values, as a Markdown table, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.measure import Figures

SCALES = {
    "s": ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The wanted ratio: `at_least` or `at_most` so much."""

    at_least: float = 0.0
    at_most: float = float("inf")

    def met(self, ratio: float) -> bool:
        """True if the ratio is in the bounds."""
        return self.at_least <= ratio <= self.at_most

    def __str__(self) -> str:
        return f">= {self.at_least:g}" if self.at_least else f"<= {self.at_most:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One scenario: figures by column, and their ratio.

    Each pair of `over` makes a ratio of medians; the first has to meet the target. Where there is
    no pair, the figures themselves have to.
    """

    name: str
    unit: str
    cells: Mapping[str, Figures]
    over: Sequence[tuple[str, str]] = ()
    target: Target | None = None
    note: str = ""

    @property
    def ratios(self) -> list[float]:
        """The ratios, in order."""
        return [
            self.cells[first].median / self.cells[second].median
            for first, second in self.over
            if first in self.cells and second in self.cells
        ]

    @property
    def met(self) -> bool | None:
        """True if the target was met; None without a target."""
        if self.target is None or not (self.ratios or self.cells):
            return None
        judged = self.ratios or [next(iter(self.cells.values())).median]
        return self.target.met(judged[0])


@dataclass(slots=True, kw_only=True)
class Table:
    """The rows of one suite. `ratio` heads the column of the ratios."""

    title: str
    columns: Sequence[str]
    ratio: str
    rows: list[Row] = field(default_factory=list[Row])


def markdown(tables: Sequence[Table]) -> str:
    """The tables, each under its title."""
    return "\n".join(_table(table) for table in tables)


def data(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """The tables as JSON data, in seconds and bytes."""
    return [
        {
            "title": table.title,
            "rows": [
                {
                    "name": row.name,
                    "unit": row.unit,
                    "figures": {column: _finite(cell) for column, cell in row.cells.items()},
                    "ratios": row.ratios,
                    "target": None if row.target is None else str(row.target),
                    "met": row.met,
                    "note": row.note,
                }
                for row in table.rows
            ],
        }
        for table in tables
    ]


def _finite(figures: Figures) -> dict[str, float | None]:
    """JSON knows no infinity: what never ended is null."""
    return {key: value if math.isfinite(value) else None for key, value in asdict(figures).items()}


def _table(table: Table) -> str:
    heads = ["", *table.columns, table.ratio, "target"]
    lines = [f"### {table.title}", "", _line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
    for row in table.rows:
        cells = [row.cells.get(column) for column in table.columns]
        lines.append(
            _line(
                [
                    row.name + (f" ({row.note})" if row.note else ""),
                    *("" if cell is None else shown(cell, row.unit) for cell in cells),
                    _ratio(row),
                    "" if row.target is None else str(row.target),
                ]
            )
        )
    return "\n".join([*lines, ""])


def _ratio(row: Row) -> str:
    text = " / ".join(f"{ratio:.3g}" for ratio in row.ratios)
    return f"**{text} missed**".replace("** ", "**") if row.met is False else text


def shown(figures: Figures, unit: str) -> str:
    """The median in a handy unit, with the quartiles behind it."""
    if math.isinf(figures.median):
        return "never"
    scale, name = next(
        (pair for pair in SCALES.get(unit, ()) if abs(figures.median) >= pair[0]),
        SCALES.get(unit, ((1.0, unit),))[-1],
    )
    text = f"{figures.median / scale:.3g} {name}".strip()
    if figures.low == figures.high:
        return text
    return f"{text} ({figures.low / scale:.3g} to {figures.high / scale:.3g})"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
