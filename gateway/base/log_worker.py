"""A worker that formats and writes the log: no caller waits.

A killed process loses the lines of its last `MOMENT`; warnings and errors are written at once.
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
PATIENCE = 3.0
"""Seconds for writing what waits: disks and pipes may stand still."""

_CONSTANT = {str, int, float, bool, type(None)}
_LOST = "the log was too slow: %s lines lost since the start, %s of them warnings or errors"


class LogWorker(logging.Handler):
    """Hands records to a worker that writes them to the `target`.

    It loses records, and says how many, rather than wait for a target that stands still. After its
    end, and in a forked child, which has no such worker, the caller writes.
    """

    def __init__(self, target: logging.Handler) -> None:
        super().__init__()
        self._target = target
        self._waiting = SimpleQueue[logging.LogRecord | threading.Event | None]()
        self._hurry = threading.Event()
        self._ended = False
        self._lost: Counter[bool] = Counter()  # True: warnings and errors
        self._told = 0
        self._worker = threading.Thread(target=self._run, name="log", daemon=True)
        self._worker.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Let the record be written soon."""
        if self._ended or not self._worker.is_alive():
            self._write([record])
            return
        urgent = record.levelno >= logging.WARNING
        if self._waiting.qsize() >= (2 * ROOM if urgent else ROOM):
            self._lost[urgent] += 1
            return
        try:
            # Other objects may change, or be of use in one worker only.
            if type(record.args) is dict or not _CONSTANT.issuperset(map(type, record.args or ())):
                record.msg, record.args = record.getMessage(), None
            self._waiting.put(record)
        except Exception:  # it does not fit its arguments
            self._target.handleError(record)
        if urgent:
            self._hurry.set()

    def flush(self) -> None:
        """Write what waits, within a few seconds."""
        if self._worker.is_alive():
            written = threading.Event()
            self._waiting.put(written)
            self._hurry.set()
            written.wait(PATIENCE)

    def close(self) -> None:
        """Write what waits and close the target."""
        self.acquire()
        self._ended = True  # no record comes behind the mark of the end
        self.release()
        self._waiting.put(None)
        self._hurry.set()
        self._worker.join(PATIENCE)
        if not self._worker.is_alive():
            self._target.close()
        super().close()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = [self._waiting.get()]
            self._hurry.wait(MOMENT)
            self._hurry.clear()
            batch += [self._waiting.get() for _ in range(self._waiting.qsize())]
            self._write([each for each in batch if isinstance(each, logging.LogRecord)])
            flushed = [each for each in batch if isinstance(each, threading.Event)]
            ended = None in batch
            batch.clear()  # an error's frames are not held until somebody logs again
            for event in flushed:
                event.set()

    def _write(self, records: list[logging.LogRecord]) -> None:
        if (lost := self._lost.total()) != self._told:
            self._told = lost
            records = [*records, _record(logging.WARNING, _LOST, lost, self._lost[True])]
        lines: list[str] = []
        for record in records:
            try:
                lines.append(self.format(record))
            except Exception:  # an object without a text
                self._target.handleError(record)
        if lines:
            self._target.handle(_record(logging.INFO, "\n".join(lines)))


def _record(level: int, text: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("gateway", level, "", 0, text, arguments, None)
