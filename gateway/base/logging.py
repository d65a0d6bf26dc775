"""The log: Parley's work, and errors by the ids that people see.

A person reads lines, of `parley chat` and `run`; programs read JSON, of `parley serve`. Neither has
what people and models say, but where an error's own text quotes it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any
from zlib import crc32

from gateway.base.log_thread import LogThread
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

    __slots__ = ("_token", "thread", "troubled", "turn")

    def __init__(self, thread: str, turn: str) -> None:
        self.thread = thread
        self.turn = turn
        self.troubled = False
        """A warning or an error was logged."""
        self._token: Token[LogContext | None] | None = None

    def __enter__(self) -> None:
        self._token = _WORK.set(self)

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _WORK.reset(self._token)


_WORK: ContextVar[LogContext | None] = ContextVar("parley_work", default=None)
_NO_TURN = LogContext("", "")


class _TurnFilter(logging.Filter):
    """Marks records with their turns; drops routine ones beyond a share.

    It is asked where a record is made: the thread that writes it has no turn.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = share

    def filter(self, record: logging.LogRecord) -> bool:
        """False for a turn's routine line that sampling leaves out."""
        record.work = work = _WORK.get() or _NO_TURN
        if record.levelno >= logging.WARNING:
            work.troubled = True
        if work.troubled or not getattr(record, "routine", False):
            return True
        return crc32(work.turn.encode()) < self._share * 2**32


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Ids and facts of a record, by name."""
    work: LogContext = getattr(record, "work", None) or _WORK.get() or _NO_TURN
    fields: dict[str, Any] = {
        "thread": getattr(record, "thread_id", work.thread),
        "turn": work.turn,
        "event": getattr(record, "event", ""),
        **getattr(record, "facts", {}),
    }
    return {name: value for name, value in fields.items() if value not in ("", None)}


class TextFormatter(RedactingFormatter):
    """A record as text for people, with ids and without secrets."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The record's line; the traceback follows."""
        return with_fields(super().formatMessage(record), _fields(record))


def with_fields(line: str, fields: Mapping[str, Any]) -> str:
    """The line with the fields behind it, as name=value."""
    return " ".join([line, *(f"{name}={value}" for name, value in fields.items())])


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
    """A log that stops growing when the disk is full."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the record: a traceback would be painted over the chat."""


def log_to(file: Path, level: str, sample: float = 1.0) -> None:
    """Write the log, without secrets, to the file only.

    `sample` is the share of the turns without trouble that it tells of.

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
    handler.setFormatter(TextFormatter())
    _begin(handler, level, sample)


def log_json(file: Path | None, level: str, sample: float = 1.0) -> None:
    """Write the log as JSON, in a thread, to the file or standard error.

    `sample` is the share of the turns without trouble that it tells of. Raises OSError where the
    file can't be written.
    """
    if file is None:
        target: logging.Handler = logging.StreamHandler(sys.stderr)
    else:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        target = _LogFile(file, maxBytes=_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True)
    handler = LogThread(target)
    handler.setFormatter(JsonFormatter())
    _begin(handler, level, sample)


def flush_log() -> None:
    """Write what was logged, within a few seconds."""
    for handler in logging.getLogger().handlers:
        handler.flush()


def _begin(handler: logging.Handler, level: str, sample: float) -> None:
    debug = level == "debug"
    handler.addFilter(_TurnFilter(1.0 if debug else sample))
    logging.basicConfig(level="INFO" if debug else level.upper(), handlers=[handler], force=True)
    # SDKs write whatever they send and receive at this level: it is for Parley's own doings alone.
    for name in OWN:
        logging.getLogger(name).setLevel(logging.DEBUG if debug else logging.NOTSET)
    # Whatever people and models say is worth an event of the engine's to those who listen in
    # Python; in the log it has no place.
    for name in (EVENT_LOGGER_NAME, TRACE_LOGGER_NAME):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.captureWarnings(True)
