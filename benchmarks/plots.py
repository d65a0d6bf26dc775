"""Bar charts as SVG without a library, in the page's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite, log10

from benchmarks.measure import Figures
from benchmarks.report import Row, shown

WIDTH, LABEL, BAR, GAP = 860, 300, 16, 14
COLOURS = ("#2f81f7", "#8957e5", "#8b949e")
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-weight:600;font-size:15px}"
    ".f{font-size:12px}line{stroke:#d0d7de}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}line{stroke:#30363d}}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Rows of one unit in parallel, with bars on a logarithmic scale."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]


def svg(chart: Chart) -> str:
    """The chart as an SVG document."""
    columns = [column for column in chart.columns if any(column in r.cells for r in chart.rows)]
    colours = dict(zip(chart.columns, COLOURS, strict=False))
    scale = _Scale([r.cells[column].median for r in chart.rows for column in r.cells])
    parts = [text(0, 18, chart.title, "t"), *_legend(columns, colours)]
    y = 58
    for row in chart.rows:
        cells = {column: row.cells[column] for column in columns if column in row.cells}
        parts += _row(row, cells, colours, scale, y)
        y += BAR * len(cells) + GAP
    parts.insert(0, f'<line x1="{LABEL}" x2="{LABEL}" y1="50" y2="{y - GAP + 4}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" '
        f'aria-label="{escape(chart.title)}"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


class _Scale:
    """Lengths of bars: one decade below the smallest figure has none."""

    def __init__(self, figures: Sequence[float]) -> None:
        found = [figure for figure in figures if isfinite(figure) and figure > 0]
        self._low = log10(min(found)) - 0.5
        self._span = max(log10(max(found)) - self._low, 1.0)

    def __call__(self, figure: float) -> float:
        room = WIDTH - LABEL - 190
        return room * (log10(figure) - self._low) / self._span if isfinite(figure) else room


def _row(
    row: Row, cells: Mapping[str, Figures], colours: Mapping[str, str], scale: _Scale, y: int
) -> list[str]:
    middle = y + BAR * len(cells) / 2 + 4
    parts = [text(LABEL - 10, middle, row.name.strip(), "", end=True)]
    for number, (column, figures) in enumerate(cells.items()):
        top, length = y + BAR * number, scale(figures.median)
        parts.append(
            f'<rect x="{LABEL}" y="{top}" width="{length:.1f}" height="{BAR - 3}" rx="2" '
            f'fill="{colours[column]}"/>'
        )
        parts.append(text(LABEL + length + 6, top + 11, shown(figures, row.unit), "f"))
    return parts


def _legend(columns: Sequence[str], colours: Mapping[str, str]) -> list[str]:
    parts: list[str] = []
    x = LABEL
    for column in columns:
        parts.append(
            f'<rect x="{x}" y="30" width="12" height="12" rx="2" fill="{colours[column]}"/>'
        )
        parts.append(text(x + 18, 41, column, "f"))
        x += 40 + 7 * len(column)
    return parts


def text(x: float, y: float, said: str, kind: str, *, end: bool = False) -> str:
    """A text of a class in STYLE; `end`: it ends at `x`."""
    anchor = ' text-anchor="end"' if end else ""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{anchor}{style}>{escape(said)}</text>'
