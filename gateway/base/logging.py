"""The log: Parley's work, and errors by the ids that people see.

A person reads lines, of `parley chat` and `run`; programs read JSON, of `parley serve`. Neither has
what people and models say, but where an error's own text quotes it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from zlib import crc32

from gateway.base.log_worker import LogWorker
from gateway.base.redaction import REDACTION, RedactingFormatter
from teams.core import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"
_BYTES = 5_000_000
_BACKUPS = 3
LOG_FILE = "parley.log"
"""The log beside the store, unless the config names another file."""
OWN = ("adapters", "gateway", "teams")
"""The loggers of Parley itself."""


class LogContext:
    """Mark all records of this context as this turn's."""

    __slots__ = ("_token", "has_warned", "thread", "turn")

    def __init__(self, thread: str, turn: str) -> None:
        self.thread = thread
        self.turn = turn
        self.has_warned = False
        self._token: Token[LogContext | None] | None = None

    def __enter__(self) -> None:
        self._token = _WORK.set(self)

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _WORK.reset(self._token)


_WORK: ContextVar[LogContext | None] = ContextVar("parley_work", default=None)
_NO_TURN = LogContext("", "")


class Seldom:
    """Warnings that outsiders can cause: one line a minute, with their number."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._again_at = float("-inf")
        self._untold = 0

    def warning(self, text: str) -> None:
        """Log the text, with the number of those since the last line."""
        self._untold += 1
        if (now := self._clock()) >= self._again_at:
            self._log.warning("%s (%d since the last such line)", text, self._untold)
            self._again_at, self._untold = now + 60, 0


def _is_kept(share: float, record: logging.LogRecord) -> bool:
    """Mark the record with its turn; False for one left out."""
    record.work = work = _WORK.get() or _NO_TURN
    work.has_warned |= record.levelno >= logging.WARNING
    routine = getattr(record, "routine", False) and not work.has_warned
    return not routine or crc32(work.turn.encode()) < share * 2**32


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Ids and facts of a record, by name."""
    work: LogContext = getattr(record, "work", None) or _WORK.get() or _NO_TURN
    fields = {
        "thread": getattr(record, "thread_id", work.thread),
        "turn": work.turn,
        "event": getattr(record, "event", ""),
        **getattr(record, "facts", {}),
    }
    told = ((name, value) for name, value in fields.items() if value not in ("", None))
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in told}


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON, with ids and without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": REDACTION.all(record.getMessage()),
            **_fields(record),
        }
        if record.exc_info:
            line["error"] = REDACTION.all(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class _LogFile(RotatingFileHandler):
    """A log for its owner, which a full disk ends."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        super().__init__(file, maxBytes=_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True)

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the record: a traceback would be painted over the chat."""


def log_to(file: Path, level: str, sample: float = 1.0) -> None:
    """Write the log, without secrets, to the file only.

    `sample` is the share of the routine turns that are logged. Where the file can't be written,
    there is no log: that must not keep anybody from talking to the team.
    """
    try:
        handler: logging.Handler = _LogFile(file)
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(RedactingFormatter(_FORMAT))
    _begin(handler, level, sample)


def log_json(file: Path | None, level: str, sample: float = 1.0) -> None:
    """Write the log as JSON to the file or standard error.

    `sample` is the share of the routine turns that are logged. Raises OSError where the file can't
    be written.
    """
    handler = LogWorker(_LogFile(file) if file else logging.StreamHandler(sys.stderr))
    handler.setFormatter(JsonFormatter())
    _begin(handler, level, sample)


def flush_log() -> None:
    """Write what was logged, within a few seconds."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogWorker):
            handler.flush()


def _begin(handler: logging.Handler, level: str, sample: float) -> None:
    debug = level == "debug"
    handler.addFilter(partial(_is_kept, 1.0 if debug else sample))
    logging.basicConfig(level="INFO" if debug else level.upper(), handlers=[handler], force=True)
    # SDKs write whatever they send and receive at this level: it is for Parley's own doings alone.
    for name in OWN:
        logging.getLogger(name).setLevel(logging.DEBUG if debug else logging.NOTSET)
    # Whatever people and models say is worth an event of the engine's to those who listen in
    # Python; in the log it has no place.
    for name in (EVENT_LOGGER_NAME, TRACE_LOGGER_NAME):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # A database that is away is told of once by the store; its driver would tell of each try.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    # A line for each request to a model; what fails is told by who asked.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.captureWarnings(True)
