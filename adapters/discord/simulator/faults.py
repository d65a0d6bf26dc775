"""Bad days on order: what goes wrong with which request, how often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adapters.discord.simulator.calls import Call


@dataclass(frozen=True, slots=True)
class Fails:
    """Answers with a status of 5xx; `committed`: after it was done nevertheless."""

    status: int = 500
    committed: bool = False


@dataclass(frozen=True, slots=True)
class TooMany:
    """Refuses for its rate. Without `via` it looks like one of Cloudflare's refusals, and `html`
    gives it their page as body. `header`: the header names another time than the body, as Discord
    has done."""

    retry_after: float = 1.0
    scope: Literal["user", "shared", "global"] = "user"
    via: bool = True
    html: bool = False
    header: float | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Cuts the connection instead of answering; `committed`: after it was done."""

    committed: bool = False


@dataclass(frozen=True, slots=True)
class Slow:
    """Answers late: after `seconds`, or once `until` is set."""

    seconds: float = 0.0
    until: asyncio.Event | None = None
    committed: bool = False
    """Whether it is done before the wait, not after."""


@dataclass(frozen=True, slots=True)
class Refuses:
    """Answers with an error of Discord's own."""

    status: int
    code: int
    message: str


Fault: TypeAlias = Fails | TooMany | Cut | Slow | Refuses


@dataclass(slots=True)
class Plan:
    """A fault, which requests it meets, after how many that would, and how often still."""

    fault: Fault
    matches: Callable[[Call], bool]
    skip: int
    times: int

    def meets(self, call: Call) -> bool:
        """Whether this request is met; counts it."""
        if self.times == 0 or not self.matches(call):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Faults:
    """The faults that are planned, first come first met."""

    def __init__(self) -> None:
        self._plans: list[Plan] = []

    def plan(
        self,
        fault: Fault,
        *,
        method: str = "",
        path: str = "",
        when: Callable[[Call], bool] | None = None,
        skip: int = 0,
        times: int = 1,
    ) -> Plan:
        """Let a fault meet the next `times` requests of this kind, after the next `skip`.

        `path` is a part of the path or of the route (`"/messages/{message_id}"`); `times=-1`: all.
        """

        def matches(call: Call) -> bool:
            return (
                (not method or call.method == method)
                and (path in call.path or path in call.route)
                and (when is None or when(call))
            )

        plan = Plan(fault, matches, skip, times)
        self._plans.append(plan)
        return plan

    def clear(self) -> None:
        """Forget what was planned."""
        self._plans.clear()

    def next(self, call: Call) -> Fault | None:
        """What goes wrong with this request."""
        for plan in self._plans:
            if plan.meets(call):
                return plan.fault
        return None
