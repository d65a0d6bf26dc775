"""Draw docs/images/dashboard.svg: the dashboard's panels over a run with an incident.

`python docs/dashboard.py` needs `prometheus` (apt install prometheus) and takes four minutes. It
draws what Prometheus answers to the queries of `deploy/grafana/parley.json`, in its layout.
"""

from __future__ import annotations

import asyncio
import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.plots import STYLE, text
from docs.dashboard_run import PROMETHEUS, SCRAPE, watched_run

ROOT = Path(__file__).resolve().parents[1]
DASHBOARD = ROOT / "deploy" / "grafana" / "parley.json"
PICTURE = ROOT / "docs" / "images" / "dashboard.svg"
QUERY = f"http://127.0.0.1:{PROMETHEUS}/api/v1/query_range"
ACROSS, DOWN = 52, 27
"""Pixels of a step of `gridPos`."""
LEFT, TOP, RIGHT, BELOW = 56, 28, 14, 56
COLOURS = ("#2f81f7", "#db6d28", "#2da44e", "#8957e5", "#cf222e", "#bf8700", "#1b7c83", "#8b949e")
LETTER = 6.1
"""Pixels of a letter of a legend."""
MORE = (
    "text{font-size:11px}.n{font-weight:600;font-size:13px}.b{fill:#8b949e;opacity:.16}"
    ".c{fill:none;stroke:#8b949e;stroke-opacity:.4}polyline{fill:none;stroke-width:1.6;"
    "stroke-linejoin:round;stroke-linecap:round}"
)
SCALES = {
    "bytes": ((2**30, " GB"), (2**20, " MB"), (2**10, " kB")),
    "short": ((1e6, " M"), (1e3, " k")),
    "percentunit": ((0.01, " %"),),
    "s": ((1, " s"), (1e-3, " ms")),
}
"""Units of Grafana as axes show them: what a figure is divided by from there on."""

Points = list[tuple[float, float]]
Panel = Mapping[str, Any]


async def lines_of(
    web: aiohttp.ClientSession, panel: Panel, times: Sequence[float]
) -> dict[str, Points]:
    """The lines of a panel by their legend."""
    lines: dict[str, Points] = {}
    for target in panel["targets"]:
        query = target["expr"].replace("$__rate_interval", f"{5 * SCRAPE}s")
        asked = {"query": query, "start": times[0], "end": times[-1], "step": SCRAPE}
        async with web.get(QUERY, params=asked) as response:
            found = (await response.json())["data"]["result"]
        for each in found:
            legend = target["legendFormat"]
            for label, value in each["metric"].items():
                legend = legend.replace(f"{{{{{label}}}}}", value)
            points = [(at, float(figure)) for at, figure in each["values"]]
            lines[legend] = [(at, figure) for at, figure in points if math.isfinite(figure)]
    return {legend: points for legend, points in lines.items() if points}


def drawn(panel: Panel, lines: Mapping[str, Points], times: Sequence[float]) -> str:
    """A panel as SVG, with the incident and the pause shaded."""
    place, unit = panel["gridPos"], panel["fieldConfig"]["defaults"]["unit"]
    wide, high = place["w"] * ACROSS - 10, place["h"] * DOWN - 8
    right, bottom = wide - RIGHT, high - BELOW
    highest = max((y for points in lines.values() for _, y in points), default=0.0)
    scale, name = next((s for s in SCALES.get(unit, ()) if highest >= s[0]), (1, ""))
    most = _round_up(highest / scale) * scale

    def x(at: float) -> float:
        return LEFT + (right - LEFT) * (at - times[0]) / (times[-1] - times[0])

    def y(figure: float) -> float:
        return bottom - (bottom - TOP) * figure / most

    parts = [f'<rect class="c" width="{wide}" height="{high}" rx="4"/>']
    parts.append(text(10, 18, panel["title"], "n"))
    for begin, end in ((times[1], times[2]), (times[2], times[3])):
        box = f'x="{x(begin) + 0.5:.1f}" y="{TOP}" width="{x(end) - x(begin) - 1:.1f}"'
        parts.append(f'<rect class="b" {box} height="{bottom - TOP}"/>')
    for part in (0.0, 0.5, 1.0):
        at = y(most * part)
        parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{at:.0f}" y2="{at:.0f}"/>')
        parts.append(text(LEFT - 5, at + 4, f"{most * part / scale:.3g}{name}", "", end=True))
    minutes = range(1 + int((times[-1] - times[0]) / 60))
    parts += [text(x(times[0] + 60 * n) - 4, bottom + 15, f"{n} min", "") for n in minutes]
    for (_, points), colour in zip(lines.items(), _colours(), strict=False):
        for piece in _pieces(points):
            path = " ".join(f"{x(at):.0f},{y(figure):.1f}" for at, figure in piece)
            parts.append(f'<polyline points="{path}" stroke="{colour}"/>')
    parts += _legend([*lines], wide, bottom + 33)
    where = f"translate({place['x'] * ACROSS + 5},{place['y'] * DOWN + 5})"
    return f'<g transform="{where}">{"".join(parts)}</g>'


def _round_up(figure: float) -> float:
    """The next of 1, 2, 5, 10, 20 ...; 1 for 0."""
    if figure <= 0:
        return 1.0
    decade = 10 ** math.floor(math.log10(figure))
    return next(step * decade for step in (1, 2, 5, 10) if figure <= step * decade * 1.0001)


def _pieces(points: Points) -> Iterator[Points]:
    """Parts of a line between its gaps."""
    piece: Points = []
    for point in points:
        if piece and point[0] - piece[-1][0] > 1.5 * SCRAPE:
            yield piece
            piece = []
        piece.append(point)
    yield piece


def _colours() -> Iterator[str]:
    while True:
        yield from COLOURS


def _legend(names: Sequence[str], wide: float, y: float) -> Iterator[str]:
    """Names of the lines in two rows; the rest by its number."""
    x, row = 10.0, 0
    for number, (name, colour) in enumerate(zip(names, _colours(), strict=False)):
        length = 24 + LETTER * len(name)
        if x + length > wide - 10 - 60 * row:
            x, row = 10.0, row + 1
        if row > 1:
            yield text(wide - 10, y + 15, f"+ {len(names) - number} more", "", end=True)
            return
        yield f'<rect x="{x:.0f}" y="{y + 15 * row - 9}" width="9" height="9" fill="{colour}"/>'
        yield text(x + 13, y + 15 * row, name, "")
        x += length


async def main() -> None:
    """Let a gateway run, and draw its dashboard.

    Raises LookupError if a panel stays empty.
    """
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    with tempfile.TemporaryDirectory(prefix="parley-dashboard-") as folder:
        async with watched_run(Path(folder)) as times, aiohttp.ClientSession() as web:
            lines = [await lines_of(web, panel, times) for panel in panels]
    parts = [drawn(panel, each, times) for panel, each in zip(panels, lines, strict=True)]
    wide = max((p["gridPos"]["x"] + p["gridPos"]["w"]) * ACROSS for p in panels)
    high = max((p["gridPos"]["y"] + p["gridPos"]["h"]) * DOWN for p in panels)
    PICTURE.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-label="The dashboard"><style>{STYLE}{MORE}</style>{"".join(parts)}</svg>\n',
        encoding="utf-8",
    )
    if empty := [p["title"] for p, each in zip(panels, lines, strict=True) if not each]:
        raise LookupError(f"Nothing is shown in: {', '.join(empty)}.")


if __name__ == "__main__":
    asyncio.run(main())
