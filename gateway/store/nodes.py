"""Nodes: the processes that share a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from gateway.values import value


@value
class Node:
    """A process at a store, from its start to its end.

    It holds lanes of threads of its `platforms`; without any it only writes.
    """

    boot: str
    name: str = ""
    version: str = ""
    platforms: tuple[str, ...] = ()


@value
class Healed:
    """Lanes that a node has adopted, as threads."""

    adopted: tuple[str, ...] = ()


@value
class NodeRow:
    """A node as the others see it. Times are by the database's clock."""

    node: Node
    since: float
    silent: float
    """Seconds since its last beat."""
    draining: bool
    lanes: int = 0
    """Threads with a turn that runs there."""
    leases: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its load, as it said with its last beat."""
