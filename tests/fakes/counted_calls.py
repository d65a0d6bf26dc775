"""Counts calls instead of time: a regression shows on any machine."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Self


class Calls:
    """Counts this thread's calls of Python functions while it is entered.

    Those in files whose names begin with `without` are not counted.
    """

    def __init__(self, *without: str) -> None:
        self.count = 0
        self._without = without

    def _called(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and not frame.f_code.co_filename.startswith(self._without):
            self.count += 1

    def __enter__(self) -> Self:
        # What earlier tests left behind calls functions, too, where the collector finds it.
        gc.collect()
        gc.disable()
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        gc.enable()


class CallsOf:
    """Counts the calls of these functions, by name.

    It counts in this thread and in threads that start meanwhile.
    """

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self._names = {_code(each): each.__name__ for each in functions}
        self._seen: list[str] = []

    @property
    def counts(self) -> dict[str, int]:
        """Number of calls so far, by function."""
        return {name: self._seen.count(name) for name in self._names.values()}

    def forget(self) -> None:
        """Count anew."""
        self._seen.clear()

    def _called(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code in self._names:
            self._seen.append(self._names[frame.f_code])

    def __enter__(self) -> Self:
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def _code(function: Callable[..., Any]) -> CodeType:
    return function.__code__
