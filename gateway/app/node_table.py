"""The nodes of a store, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gateway.app.threads import columns
from gateway.base.calendar import local_time
from gateway.store.nodes import NodeRow

DIFFERS = 2.0
"""Seconds from which a difference of clocks is told."""
TOP = ("NODE", "VERSION", "SINCE", "HEARTBEAT", "TURNS", "IDLE", "LANES", "LAG", "COMMIT", "LEASES")


def serving(nodes: Sequence[NodeRow]) -> list[NodeRow]:
    """Those that live and deliver for platforms."""
    return [each for each in nodes if each.serves]


def node_names(nodes: Sequence[NodeRow]) -> str:
    """The nodes by their names."""
    return ", ".join(each.node.name for each in nodes)


def node_table(nodes: Sequence[NodeRow], boot: str = "", zone: str = "") -> str:
    """The nodes in columns.

    The one of this `boot` answers. Times are in the zone.
    """
    rows = [TOP, *(_row(each, boot, zone) for each in nodes)]
    return columns(rows)


def _row(row: NodeRow, boot: str, zone: str) -> tuple[str, ...]:
    node, told = row.node, row.figures
    marks = [
        *(["answers"] if node.boot == boot else []),
        *(["draining"] if row.draining else []),
        *([] if row.takes_lanes else ["another config, so no threads"]),
        *([] if row.lives else ["silent for too long"]),
        *([] if node.platforms else ["no platforms"]),
        *_clock(told.get("clock")),
    ]
    return (
        " ".join([node.name, *([f"({', '.join(marks)})"] if marks else [])]),
        node.version or "-",
        f"{local_time(row.since, zone):%Y-%m-%d %H:%M}",
        f"{max(0.0, row.silent):.1f} s ago",
        _of(told.get("running"), told.get("parallel")),
        _number(told.get("live")),
        str(row.lanes),
        _milliseconds(told.get("lag")),
        _milliseconds(told.get("commit")),
        ", ".join(row.leases) or "-",
    )


def _clock(ahead: Any) -> list[str]:
    """The words for a clock that differs from the database's."""
    if not _are_numbers(ahead) or abs(ahead) < DIFFERS:
        return []
    return [
        f"its clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the database's"
    ]


def _of(running: Any, parallel: Any) -> str:
    return f"{running:.0f} of {parallel:.0f}" if _are_numbers(running, parallel) else "-"


def _number(figure: Any) -> str:
    return f"{figure:.0f}" if _are_numbers(figure) else "-"


def _milliseconds(seconds: Any) -> str:
    return f"{seconds * 1000:.0f} ms" if _are_numbers(seconds) else "-"


def _are_numbers(*figures: Any) -> bool:
    """True if a node of another version has told them, too."""
    return all(isinstance(each, int | float) for each in figures)


def nodes_json(nodes: Sequence[NodeRow]) -> list[dict[str, Any]]:
    """The nodes as JSON."""
    return [asdict(each) for each in nodes]
