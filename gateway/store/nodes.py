"""Nodes: the processes that share a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from gateway.values import value

ANY_PLATFORM = "*"
"""In the place of a node's platforms: it tells all there are."""


@value
class Node:
    """A process at a store, from its start to its end.

    It holds lanes of threads of its `platforms`; without any it only writes.
    """

    boot: str
    name: str = ""
    version: str = ""
    platforms: tuple[str, ...] = ()
    digest: str = ""
    """The digest of its config; "" of an earlier version."""


@value
class NodeTurn:
    """A turn that the store has running on a node.

    `stop`: it is to be stopped. `steer`: it has messages to take up.
    """

    thread: str
    turn: str
    stop: bool
    steer: bool


@value
class Healed:
    """Findings of a node about its lanes."""

    adopted: tuple[str, ...]
    """Threads whose lanes it has taken."""
    untold: tuple[str, ...]
    """Threads with something to tell that nobody has told it of."""
    turns: tuple[NodeTurn, ...]
    """Turns that run here, or that nobody here knows of."""
    takes_lanes: bool = True
    """False while its config is not that of the others."""


@value
class NodeRow:
    """A node as the others see it.

    Times are by the database's clock.
    """

    node: Node
    since: float
    silent: float
    """Seconds since its last heartbeat."""
    draining: bool
    takes_lanes: bool = True
    """False while its config is not that of the others."""
    lives: bool = True
    """False once it has been silent for longer than the others wait."""
    lanes: int = 0
    """Threads with a turn that runs there."""
    leases: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its load, as it said with its last heartbeat."""

    @property
    def serves(self) -> bool:
        """True if it lives and delivers for platforms."""
        return self.lives and bool(self.node.platforms)
