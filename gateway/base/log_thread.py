"""A thread that formats and writes the log, so that nobody else has to wait for it.

Lines are gathered for a moment and written together: a process that is killed loses those of its
last `MOMENT`. Warnings and errors are written at once.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from queue import SimpleQueue

MOMENT = 0.1
"""Seconds for which lines are gathered."""
ROOM = 10_000
"""Records that may wait to be written; warnings and errors have twice the room."""
BATCH = 500
"""Records that are written together at most."""
PATIENCE = 3.0
"""Seconds for writing what waits: disks and pipes may stand still."""

_CONSTANT = frozenset((str, int, float, bool, type(None)))
"""Types of arguments whose text is the same later, and in another thread."""


class LogThread(logging.Handler):
    """Hands records to a thread that writes them to the `target`.

    It loses records, and says how many, rather than wait for a target that stands still. After its
    end, and in a forked child, which has no such thread, whoever logs writes.
    """

    def __init__(self, target: logging.Handler) -> None:
        super().__init__()
        self._target = target
        self._waiting = SimpleQueue[logging.LogRecord | threading.Event]()
        self._hurry = threading.Event()
        self._ended = False
        self._lost: Counter[bool] = Counter()
        """Records that found no room; True: warnings and errors."""
        self._told: Counter[bool] = Counter()
        """Those of them that the log tells of."""
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Let the record be written soon."""
        if self._ended or not self._thread.is_alive():
            self._write([record])
            return
        urgent = record.levelno >= logging.WARNING
        if self._waiting.qsize() >= (2 * ROOM if urgent else ROOM):
            self._lost[urgent] += 1
            return
        try:
            _settle_text(record)
        except Exception:  # it does not fit its arguments
            self._target.handleError(record)
            return
        self._waiting.put(record)
        if urgent:
            self._hurry.set()

    def flush(self) -> None:
        """Write what waits, within a few seconds."""
        if self._thread.is_alive():
            written = threading.Event()
            self._waiting.put(written)
            self._hurry.set()
            written.wait(PATIENCE)

    def close(self) -> None:
        """Write what waits and close the target."""
        self.acquire()
        try:
            self._ended = True  # whatever was logged before waits ahead of the last event
        finally:
            self.release()
        self._waiting.put(threading.Event())
        self._hurry.set()
        self._thread.join(PATIENCE)
        if not self._thread.is_alive():
            self._target.close()
        super().close()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = [self._waiting.get()]
            if self._waiting.qsize() < BATCH:
                self._hurry.wait(MOMENT)
            self._hurry.clear()
            batch += [self._waiting.get() for _ in range(min(BATCH, self._waiting.qsize()))]
            self._write([each for each in batch if isinstance(each, logging.LogRecord)])
            for each in batch:
                if isinstance(each, threading.Event):
                    each.set()
            ended = self._ended and self._waiting.empty()

    def _write(self, records: list[logging.LogRecord]) -> None:
        lines: list[str] = []
        for record in [*records, *self._losses()]:
            try:
                lines.append(self.format(record))
            except Exception:  # an object that has no text
                self._target.handleError(record)
        if lines:
            self._target.handle(_record(logging.INFO, "\n".join(lines)))

    def _losses(self) -> list[logging.LogRecord]:
        """A record that tells of those that were lost since the last one."""
        new = Counter({urgent: self._lost[urgent] - self._told[urgent] for urgent in (True, False)})
        if not new.total():
            return []
        self._told += new
        text = (
            f"{new.total()} lines of the log were lost, {new[True]} of them warnings or errors: "
            "they came faster than it could be written"
        )
        return [_record(logging.WARNING, text)]


def _settle_text(record: logging.LogRecord) -> None:
    """Format a text now whose arguments may change, or be of use in one thread only."""
    given = record.args
    if given and not (isinstance(given, tuple) and all(type(each) in _CONSTANT for each in given)):
        record.msg, record.args = record.getMessage(), None


def _record(level: int, text: str) -> logging.LogRecord:
    return logging.LogRecord("gateway", level, "", 0, text, None, None)
