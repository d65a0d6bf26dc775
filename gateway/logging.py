"""The log file: what Parley did, and the details of errors under the ids that people are told."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from gateway.redaction import RedactingFormatter
from teams.core import EVENT_LOGGER_NAME, TRACE_LOGGER_NAME

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"
_BYTES = 5_000_000
_BACKUPS = 3


def log_to(file: Path, level: str) -> None:
    """Write the log of this process, without secrets, to the file, and nothing to the terminal.

    The file is readable by its owner alone. Where it can't be written, there is no log: that must
    not keep anybody from talking to the team.
    """
    handler: logging.Handler
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        handler = RotatingFileHandler(
            file, maxBytes=_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(RedactingFormatter(_FORMAT))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Whatever people and models say is worth an event of the engine's to those who listen in
    # Python; in the log it has no place.
    for name in (EVENT_LOGGER_NAME, TRACE_LOGGER_NAME):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.captureWarnings(True)
