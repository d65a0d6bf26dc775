"""The log: Parley's work, and errors by the ids that people see.

A person reads lines, of `parley chat` and `run`; programs read JSON, of `parley serve`. Neither has
what people and models say, but where an error's own text quotes it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from gateway.base.redaction import REDACTION, RedactingFormatter
from teams.core import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"
_BYTES = 5_000_000
_BACKUPS = 3
LOG_FILE = "parley.log"
"""The log beside the store, unless the config names another file."""
OWN = ("adapters", "gateway", "teams")
"""The loggers of Parley itself."""

_WORK: ContextVar[tuple[str, str]] = ContextVar("parley_work", default=("", ""))


class LogContext:
    """Mark all records of this context as this turn's."""

    __slots__ = ("_token", "_work")

    def __init__(self, thread: str, turn: str) -> None:
        self._work = thread, turn
        self._token: Token[tuple[str, str]] | None = None

    def __enter__(self) -> None:
        self._token = _WORK.set(self._work)

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _WORK.reset(self._token)


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON, with ids and without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        thread, turn = _WORK.get()
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": REDACTION.all(record.getMessage()),
            "thread": getattr(record, "thread_id", thread),
            "turn": turn,
            "event": getattr(record, "event", ""),
        }
        if record.exc_info:
            line["error"] = REDACTION.all(self.formatException(record.exc_info))
        return json.dumps({key: value for key, value in line.items() if value}, ensure_ascii=False)


class _LogFile(RotatingFileHandler):
    """A log that stops growing when the disk is full."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the record: a traceback would be painted over the chat."""


def log_to(file: Path, level: str) -> None:
    """Write the log, without secrets, to the file only.

    The file is readable by its owner alone. Where it can't be written, there is no log: that must
    not keep anybody from talking to the team.
    """
    handler: logging.Handler
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        handler = _LogFile(
            file, maxBytes=_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(RedactingFormatter(_FORMAT))
    _begin(handler, level)


def log_json(file: Path | None, level: str) -> None:
    """Write the log as JSON to the file or standard error.

    Raises OSError where the file can't be written.
    """
    if file is None:
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
    else:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        handler = _LogFile(
            file, maxBytes=_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True
        )
    handler.setFormatter(JsonFormatter())
    _begin(handler, level)


def _begin(handler: logging.Handler, level: str) -> None:
    debug = level == "debug"
    logging.basicConfig(level="INFO" if debug else level.upper(), handlers=[handler], force=True)
    # SDKs write whatever they send and receive at this level: it is for Parley's own doings alone.
    for name in OWN:
        logging.getLogger(name).setLevel(logging.DEBUG if debug else logging.NOTSET)
    # Whatever people and models say is worth an event of the engine's to those who listen in
    # Python; in the log it has no place.
    for name in (EVENT_LOGGER_NAME, TRACE_LOGGER_NAME):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.captureWarnings(True)
