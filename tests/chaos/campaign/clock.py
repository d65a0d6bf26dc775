"""A time that moves on, for a platform and its process."""

from __future__ import annotations

import asyncio
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

AHEAD = struct.Struct("d")
"""The seconds that a process's time is ahead, as they stand in a file that both map."""


@dataclass(eq=False)
class _Call:
    due: float
    callback: Callable[[], object]
    handle: asyncio.TimerHandle | None = field(default=None, repr=False)

    def cancel(self) -> None:
        """Never make it."""
        if self.handle is not None:
            self.handle.cancel()
        self.handle = None


class MovedClock:
    """The machine's time plus what was added.

    `advance` makes the calls that become due. The processes that read the file have the same time.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._ahead = 0.0
        self._file = file
        self._calls: list[_Call] = []
        self._write()

    @property
    def ahead(self) -> float:
        """The seconds that were added."""
        return self._ahead

    def time(self) -> float:
        """The time now."""
        return time.time() + self._ahead

    def call_later(self, delay: float, callback: Callable[[], object], /) -> _Call:
        """Make a call once `delay` seconds have passed."""
        call = _Call(self.time() + delay, callback)
        self._calls.append(call)
        self._set(call)
        return call

    def advance(self, seconds: float) -> None:
        """Move on, making the calls that become due in their order."""
        end = self._ahead + seconds
        until = self.time() + seconds
        while due := [each for each in self._waiting() if each.due <= until]:
            call = min(due, key=lambda each: each.due)
            self._ahead = min(end, self._ahead + max(0.0, call.due - self.time()))
            call.cancel()
            call.callback()
        self._ahead = end
        self._write()
        for call in self._waiting():
            call.cancel()
            self._set(call)

    def _waiting(self) -> list[_Call]:
        self._calls = [each for each in self._calls if each.handle is not None]
        return self._calls

    def _set(self, call: _Call) -> None:
        def run() -> None:
            call.handle = None
            call.callback()

        delay = max(0.0, call.due - self.time())
        call.handle = asyncio.get_running_loop().call_later(delay, run)

    def _write(self) -> None:
        if self._file is not None:
            told = os.open(self._file, os.O_CREAT | os.O_WRONLY, 0o600)
            os.pwrite(told, AHEAD.pack(self._ahead), 0)  # whole: it is read at any moment
            os.close(told)
