"""Planned faults: the calls they match, skipped calls and repetitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Call = TypeVar("Call")
Fault = TypeVar("Fault")


@dataclass(slots=True)
class PlannedFault(Generic[Fault, Call]):
    """A fault for `times` matching calls after `skip`; negative: for all."""

    fault: Fault
    matches: Callable[[Call], bool]
    skip: int
    times: int

    def counts(self, call: Call) -> bool:
        """Count a call; True if it gets the fault."""
        if self.times == 0 or not self.matches(call):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class FaultPlan(Generic[Fault, Call]):
    """The faults that are still to come, first come first met."""

    def __init__(self) -> None:
        self._planned: list[PlannedFault[Fault, Call]] = []

    def add(
        self, fault: Fault, matches: Callable[[Call], bool], *, skip: int = 0, times: int = 1
    ) -> PlannedFault[Fault, Call]:
        """Plan a fault."""
        order = PlannedFault(fault, matches, skip, times)
        self._planned.append(order)
        return order

    def clear(self) -> None:
        """Forget what was planned."""
        self._planned.clear()

    def next_fault(self, call: Call) -> Fault | None:
        """The fault that this call meets."""
        return next((order.fault for order in self._planned if order.counts(call)), None)
