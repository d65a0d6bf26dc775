"""The work folder of code, and the bound on its size."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from teams._base.code import CodeResult
from teams._base.safe_files import folder_size

TOO_LARGE = 122
"""The exit code of code that fills its folder, as of EDQUOT on Linux."""
EACH = 1.0
"""Seconds between two measurements."""
MOST_FILES = 100_000
"""Entries that are measured; a folder with more of them is over any bound."""


class WorkFolder:
    """The given folder, or a temporary one with the object's life."""

    def __init__(self, given: Path | str | None) -> None:
        self.given = None if given is None else Path(given)
        self._temporary: tuple[Path, weakref.finalize[Any, Any]] | None = None

    @property
    def path(self) -> Path:
        """The folder, made if missing."""
        if self.given is not None:
            self.given.mkdir(parents=True, exist_ok=True)
            return self.given.resolve()
        if self._temporary is None:
            folder = Path(tempfile.mkdtemp(prefix="parley-code-")).resolve()
            removal = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._temporary = folder, removal
        return self._temporary[0]

    def remove(self) -> bool:
        """Remove a temporary folder; False if there is none."""
        if self._temporary is None:
            return False
        self._temporary[1]()
        self._temporary = None
        return True


def check_limits(timeout: int, work_mb: float | None) -> None:
    """Raise ValueError for limits that no code could keep."""
    if timeout < 1:
        raise ValueError(f"timeout must be at least 1 second, found {timeout}.")
    if work_mb is not None and work_mb <= 0:
        raise ValueError(f"work_mb must be more than 0 megabytes, found {work_mb}.")


async def within_size(
    running: Coroutine[Any, Any, CodeResult], folder: Path, work_mb: float | None
) -> CodeResult:
    """Result of code that is stopped once the folder is too large.

    `work_mb` is in megabytes of 1,000,000 bytes; None for no bound.
    """
    if work_mb is None:
        return await running
    task = asyncio.get_running_loop().create_task(running, name="code within its size")
    try:
        while not (await asyncio.wait({task}, timeout=EACH))[0]:
            if await _is_over(folder, work_mb):
                return CodeResult(TOO_LARGE, _refusal(work_mb, "The code was stopped: "))
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    result = task.result()
    if not await _is_over(folder, work_mb):
        return result
    gap = "\n" if result.output and not result.output.endswith("\n") else ""
    return CodeResult(result.exit_code or TOO_LARGE, f"{result.output}{gap}{_refusal(work_mb)}")


async def _is_over(folder: Path, work_mb: float) -> bool:
    return await asyncio.to_thread(folder_size, folder, most=MOST_FILES) > work_mb * 1_000_000


def _refusal(work_mb: float, before: str = "") -> str:
    return f"{before}The work folder is larger than {work_mb:g} MB. Remove files from it.\n"
