"""The terminal's figures: first paint, idling, streaming, scrolling."""

from __future__ import annotations

from benchmarks.measure import Figures
from benchmarks.report import Row, Table, Target
from benchmarks.terminal.awake import starts
from benchmarks.terminal.paint import first_paints, idle
from benchmarks.terminal.streaming import long_thread, streamed

OURS, EMPTY = "parley chat", "empty Textual app"


def run(*, quick: bool) -> Table:
    """Measure. Takes about twenty seconds, or two minutes."""
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
    table.rows += _awake(3 if quick else 9)
    seconds = 3.0 if quick else 10.0
    share, resident = idle(seconds)
    table.rows += [
        _row("CPU while idle, of one core", "%", 100 * share, "below 1"),
        _row("resident memory", "bytes", resident),
    ]
    if not quick:
        for scene, name in (("prose", "prose"), ("code", "one code block")):
            table.rows += _streaming(name, streamed(scene))
        table.rows += _long(long_thread())
    return table


def _awake(runs: int) -> list[Row]:
    demo, sdk, empty = starts(runs)
    rows: list[Row] = []
    for chat, model in ((demo, "demo team"), (sdk, "OpenAI's SDK")):
        rows += [
            Row(
                name=f"{name}, {model}",
                unit="s",
                cells={OURS: Figures.of(measured), EMPTY: Figures.of(empty.paint)},
                over=[(OURS, EMPTY)],
                target=Target(at_most=at_most),
                note="empty: its first paint",
            )
            for name, measured, at_most in (
                ("first key echoed", chat.key, 1.3),
                ("ready for a message", chat.ready, 4.0),
            )
        ]
        rows += [
            Row(name=name, unit="s", cells={OURS: Figures.of(stalls)}, target=Target(at_most=0.1))
            for name, stalls in (
                ("  longest stall until the end of the first answer", chat.stall),
                ("  most CPU in one of these stalls", chat.stall_cpu),
            )
        ]
    return rows


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
