"""A watchdog that says when and where the event loop stood still."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from gateway.base.metrics import Metrics

LOG = logging.getLogger("gateway")

STALL = 0.25
"""Seconds without an answer from which on the loop counts as standing still."""
STILL = 10.0
"""Seconds after which a loop that still stands is said to."""

_ROOT = Path(__file__).parents[2]


@contextmanager
def watch_loop(metrics: Metrics, *, stall: float = STALL) -> Generator[None]:
    """Watch the running loop from a worker; log and count its stalls."""
    watch = _LoopWatch(asyncio.get_running_loop(), metrics, stall)
    worker = threading.Thread(target=watch.run, name="loop watch", daemon=True)
    worker.start()
    try:
        yield
    finally:
        watch.end()
        worker.join()  # it writes nothing into a log that is being closed


class _LoopWatch:
    """Asks the loop for a sign of life, again and again."""

    def __init__(self, loop: asyncio.AbstractEventLoop, metrics: Metrics, stall: float) -> None:
        self._loop = loop
        self._loops_worker = threading.get_ident()
        self._metrics = metrics
        self._stall = stall
        self._ended = threading.Event()
        self._answered = threading.Event()

    def end(self) -> None:
        """Let the worker end at once."""
        self._ended.set()
        self._answered.set()

    def run(self) -> None:
        while not self._ended.wait(self._stall):
            self._answered = answered = threading.Event()
            if self._ended.is_set():  # it ended the one before
                return
            asked_at = monotonic()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # the loop is closed
                return
            if not answered.wait(self._stall):
                self._await_answer(answered, asked_at)
            self._metrics.lag = monotonic() - asked_at

    def _await_answer(self, answered: threading.Event, asked_at: float) -> None:
        place = self._place()
        while not answered.wait(STILL):
            place = self._place()
            LOG.error("the event loop has stood for %.0f s at %s", monotonic() - asked_at, place)
        if self._ended.is_set():
            return
        seconds = monotonic() - asked_at
        self._metrics.stalled(seconds)
        LOG.warning("the event loop stood for %.0f ms at %s", seconds * 1000, place)

    def _place(self) -> str:
        """The innermost frame of the loop's worker, and the innermost of ours."""
        # Documented for debuggers, in spite of its name.
        frame = sys._current_frames().get(self._loops_worker)  # pyright: ignore[reportPrivateUsage]
        stack = traceback.StackSummary.extract(traceback.walk_stack(frame), lookup_lines=False)
        ours = next((each for each in stack if Path(each.filename).is_relative_to(_ROOT)), None)
        places = dict.fromkeys(_described(each) for each in (*stack[:1], ours) if each is not None)
        return ", called by ".join(places) or "an unknown place"


def _described(frame: traceback.FrameSummary) -> str:
    path = Path(frame.filename)
    shown = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path.name
    return f"{shown}:{frame.lineno} ({frame.name})"
