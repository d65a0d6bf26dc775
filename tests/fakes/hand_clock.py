"""A clock that a test moves by hand."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Call:
    due: float
    callback: Callable[[], object]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class HandClock:
    """Time stands still until `advance`, which makes the calls that become due."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._calls: list[Call] = []

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[[], object]) -> Call:
        call = Call(self._now + delay, callback)
        self._calls.append(call)
        return call

    def advance(self, seconds: float) -> None:
        end = self._now + seconds
        while due := [call for call in self._calls if call.due <= end and not call.cancelled]:
            first = min(due, key=lambda call: call.due)
            self._calls.remove(first)
            self._now = max(self._now, first.due)
            first.callback()
        self._now = end
