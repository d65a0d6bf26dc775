"""The plan of a run, from one seed: faults and clocks."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "kill", "freeze", "black hole", "cut", "restart", "crash", "roll", "reload", "jump"
]
"""A node is killed, frozen, or cut off from the database for longer than it may be silent.

"cut": its next COMMIT is lost, or the answer. "restart" and "crash" are the database's. "roll": all
nodes end in order, one by one, and new ones come. "reload": the config is read anew. "jump": the
clock of a node is set.
"""
SHORT: tuple[tuple[Kind, ...], ...] = (
    ("kill", "crash", "reload"),
    ("freeze", "cut", "jump"),
    ("black hole", "restart", "roll"),
)
"""Faults of short plans: three seeds that follow each other have all."""
KINDS: tuple[Kind, ...] = tuple(sorted({kind for plan in SHORT for kind in plan}))
ALONE: tuple[Kind, ...] = ("kill", "cut", "restart", "crash", "roll", "reload", "jump")
"""Faults that a single node has an answer to within seconds."""
SKEWS = (-600.0, -45.0, 0.0, 45.0, 600.0)
"""Seconds that a node's clock is ahead."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault; it begins after so many more answers.

    `dice` is the seed of what else is decided by chance.
    """

    kind: Kind
    node: int
    after: int
    dice: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The faults in their order, and the clock of each node."""

    faults: tuple[Fault, ...]
    skews: tuple[float, ...]


def plan_of(seed: int, nodes: int, *, long: bool = False) -> Plan:
    """The plan of a seed, the same each time."""
    dice = random.Random(seed)
    kinds: list[Kind] = list(KINDS if long else SHORT[seed % len(SHORT)])
    dice.shuffle(kinds)
    if nodes == 1:
        kinds = [kind for kind in kinds if kind in ALONE]
    faults = [
        Fault(kind, dice.randrange(nodes), dice.randint(1, 6), dice.randrange(1000))
        for kind in kinds
    ]
    return Plan(tuple(faults), tuple(dice.choice(SKEWS) for _ in range(nodes)))
