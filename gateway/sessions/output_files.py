"""Output files: new or changed ones at a turn's end.

A file is told once: what was told is one time in the thread's row, that of the newest change seen,
by the file system's own clock of changes (`st_ctime`), which no program can set back. It is written
with the end of the turn, so that a crash before it leaves the files to be told, and after it not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from gateway.base.describe import describe
from gateway.events import FileMade, Notice, SessionEvent
from teams.safe_files import FileFacts, walk_files
from teams.utils import whole_text

LOG = logging.getLogger("gateway")

MOST_TOLD = 10
"""Files of one turn that are told of one by one."""
MOST_SEEN = 10_000
"""Entries of a folder that are looked at; what lies behind them is not told of."""
LOOK = 5.0
"""Seconds that looking may take."""

_NOT_MADE = re.compile(r"\.|__pycache__$|functions\.py$|code_[0-9a-f]{12}\.\w+$")
"""Hidden files, and what code executors write for themselves."""


class OutputFiles:
    """Output files of one turn; larger than `largest` are only counted.

    `told` is the time of the newest change that was shown, in nanoseconds.
    """

    def __init__(self, folder: Path, told: int, *, largest: float) -> None:
        self._folder = folder
        # A clock that was set back must not hide what is made from now on.
        self._told = min(told, time.time_ns())
        self._largest = largest

    async def look(self, thread: str, turn: str) -> tuple[list[SessionEvent], int | None]:
        """Events about files with their newest time; None for no files."""
        if not _has_entries(self._folder):
            return [], None
        try:
            async with asyncio.timeout(LOOK):
                files = await asyncio.to_thread(self._changed)
        except (TimeoutError, OSError) as error:
            LOG.warning(
                "thread %s: its folder could not be looked through: %s", thread, describe(error)
            )
            return [], None
        if not files:
            return [], None
        return list(self._events(thread, turn, files)), max(file.changed for file in files)

    def _changed(self) -> list[FileFacts]:
        found = walk_files(self._folder, most=MOST_SEEN, skip=_NOT_MADE.match)
        changed = (file for file in found if file.changed > self._told)
        return sorted(changed, key=lambda file: (file.changed, file.path))

    def _events(self, thread: str, turn: str, files: list[FileFacts]) -> Iterator[SessionEvent]:
        named = [file for file in files if whole_text(file.path) == file.path]
        usual = [file for file in named if file.size <= self._largest]
        for file in usual[:MOST_TOLD]:
            yield FileMade(thread=thread, turn=turn, path=file.path, size=file.size)
        left = len(named) - len(usual)
        said: list[str] = []
        if (more := len(usual) - MOST_TOLD) > 0:
            said.append(f"{more} more")
        if left:
            said.append(f"{left} of more than {self._largest / 1_000_000:g} MB")
        if unnamed := len(files) - len(named):
            said.append(f"{unnamed} whose name is no text")
        if said:
            text = f"Files in the thread's folder that are not shown: {', '.join(said)}."
            yield Notice(thread=thread, turn=turn, text=text)


def _has_entries(folder: Path) -> bool:
    # On the event loop: most threads have no files, and a worker of its own costs more than that.
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except FileNotFoundError:
        return False
