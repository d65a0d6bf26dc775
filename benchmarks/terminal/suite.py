"""The terminal's figures: first paint, idling, streaming, scrolling."""

from __future__ import annotations

from benchmarks.measure import Figures
from benchmarks.report import Row, Table, Target
from benchmarks.terminal.paint import first_paints, idle
from benchmarks.terminal.streaming import long_thread, streamed

OURS, EMPTY = "parley chat", "empty Textual app"


def run(*, quick: bool) -> Table:
    """Measure. Takes about ten seconds, or a minute and a half."""
    table = Table(title="Terminal", columns=(OURS, EMPTY), ratio="ratio")
    ours, empty = first_paints(3 if quick else 15)
    table.rows += [
        Row(
            name=name,
            unit="s",
            cells={OURS: Figures.of(first), EMPTY: Figures.of(second)},
            over=[(OURS, EMPTY)],
            target=Target(at_most=1.5),
        )
        for name, first, second in (
            ("first paint of the composer", ours.wall, empty.wall),
            ("  CPU until then", ours.cpu, empty.cpu),
        )
    ]
    seconds = 3.0 if quick else 10.0
    ready, share, resident = idle(seconds)
    table.rows += [
        _row("ready for a message", "s", ready),
        _row("CPU while idle, of one core", "%", 100 * share, "below 1"),
        _row("resident memory", "bytes", resident),
    ]
    if not quick:
        for scene, name in (("prose", "prose"), ("code", "one code block")):
            table.rows += _streaming(name, streamed(scene))
        table.rows += _long(long_thread())
    return table


def _streaming(what: str, figures: dict[str, float]) -> list[Row]:
    name = f"20,000 characters of {what} at 200 pieces/s"
    return [
        _row(name, "s", figures["wall"], "10 s at best"),
        _row("  its CPU", "s", figures["cpu"]),
        _row("  worst stall of the event loop", "s", figures["worst_stall"]),
        _row("  95th percentile of stalls", "s", figures["p95_stall"]),
        _row("  widgets mounted", "", figures["widgets"]),
        _row("  sent to the terminal", "bytes", figures["bytes"]),
    ]


def _long(figures: dict[str, float]) -> list[Row]:
    return [
        _row("1,000 messages: CPU of a page up", "s", figures["scroll"]),
        _row("  CPU of one more exchange", "s", figures["append"]),
        _row("  widgets mounted", "", figures["widgets"]),
    ]


def _row(name: str, unit: str, value: float, note: str = "") -> Row:
    return Row(name=name, unit=unit, cells={OURS: Figures.of([value])}, note=note)
