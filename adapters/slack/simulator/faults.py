"""What goes wrong on the way to Slack, as a test orders it: per method and call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Refused:
    """The method answers `ok: false` with this error, and nothing was done."""

    error: str
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limited:
    """Too many calls. As HTTP 429 with `ratelimited`, or, `plainly`, as HTTP 200 with
    `rate_limited`, which the message methods know too.
    """

    retry_after: int = 30
    plainly: bool = False


@dataclass(frozen=True)
class ServerError:
    """An answer with a status from 500 on. `applied`: the call had its effect all the same."""

    status: int = 500
    applied: bool = False


@dataclass(frozen=True)
class Reset:
    """The connection is reset before an answer came. `applied`: after the call had its effect."""

    applied: bool = False


@dataclass(frozen=True)
class Delay:
    """The answer comes late, in seconds of the simulator's clock.

    `applied`: the effect is there at once; otherwise it is as late as the answer.
    """

    seconds: float
    applied: bool = False


@dataclass(frozen=True)
class Truncated:
    """The call is done, and its answer breaks off in the middle."""


@dataclass(frozen=True)
class Garbled:
    """The call is done, and its answer is no JSON."""


Fault: TypeAlias = Refused | Limited | ServerError | Reset | Delay | Truncated | Garbled


@dataclass
class _Order:
    method: str
    fault: Fault
    skip: int
    times: int


@dataclass
class Faults:
    """The faults that are still to come."""

    _orders: list[_Order] = field(default_factory=list)

    def order(self, method: str, fault: Fault, *, skip: int = 0, times: int = 1) -> None:
        """Let the calls of a method fail, after `skip` that do not; "*" is every method."""
        self._orders.append(_Order(method, fault, skip, times))

    def clear(self) -> None:
        """Let everything work again."""
        self._orders.clear()

    def take(self, method: str) -> Fault | None:
        """The fault that this call meets."""
        for order in self._orders:
            if order.method not in (method, "*") or order.times == 0:
                continue
            if order.skip:
                order.skip -= 1
                continue
            order.times -= 1
            return order.fault
        return None
