"""Drafts: unsent text of each thread, kept over restarts and kill -9."""

from __future__ import annotations

import fcntl
import logging
import os
from pathlib import Path
from urllib.parse import quote

MOST_TERMINALS = 9

LOG = logging.getLogger(__name__)


class Drafts:
    """Files in a private folder, one for each thread.

    Each running terminal has a folder of its own, so that two terminals on one thread keep both
    drafts. The operating system frees it at the end of the process, however that comes.
    Drafts that can't be read or written are those of this run alone, as the log says once: they
    never get in the way.
    """

    def __init__(self, folder: Path) -> None:
        self._lock: int | None = None
        self._failed = False
        self._folder = self._taken_in(folder)

    def read(self, thread: str) -> str:
        """The thread's draft; "" is the thread that the next message creates."""
        if self._folder is not None:
            try:
                return self._path(self._folder, thread).read_text("utf-8", errors="replace")
            except FileNotFoundError:
                pass
            except OSError as error:
                self._tell(error)
        return ""

    def write(self, thread: str, text: str) -> None:
        """Keep a draft; without text, none.

        Not synced to the disk: the process may be killed at any time, the machine keeps the file.
        """
        if self._folder is None:
            return
        path = self._path(self._folder, thread)
        try:
            if text:
                _replace(path, text)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            self._tell(error)

    def close(self) -> None:
        """Leave the folder to the next terminal."""
        if self._lock is not None:
            os.close(self._lock)
        self._lock = self._folder = None

    def _taken_in(self, folder: Path) -> Path | None:
        """The first folder that no other terminal has."""
        for number in range(1, MOST_TERMINALS + 1):
            own = folder / str(number)
            try:
                own.mkdir(parents=True, exist_ok=True, mode=0o700)
                lock = os.open(own / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                self._tell(error)
                return None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # another terminal has it
                os.close(lock)
                continue
            self._lock = lock
            return own
        return None

    def _tell(self, error: OSError) -> None:
        if not self._failed:
            LOG.warning("drafts are not kept over a restart: %s", error)
        self._failed = True

    def _path(self, folder: Path, thread: str) -> Path:
        return folder / f"{quote(thread, safe='') or 'new thread'}.draft"


def _replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with open(os.open(new, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    new.replace(path)
