"""Tool results too large for a model are kept as files."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from pathlib import Path

from gateway.base.describe import describe
from gateway.base.paths import make_private
from teams.base import ToolCall
from teams.safe_files import UnsafePathError, write_file
from teams.tools import ToolResult, fit_result, text_bytes
from teams.utils import whole_text

LOG = logging.getLogger("gateway")

FOLDER = "tool-results"
_UNNAMED = re.compile(r"[^\w.-]+", re.ASCII)


class LargeResults:
    """Results of one turn.

    Of each text a model is given `largest` bytes.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self.folder: Path | None = None
        """The thread's own, once that is known."""
        self.kept = False
        """A file was written."""

    def is_large(self, result: ToolResult) -> bool:
        """True if the result is too much for a model."""
        return text_bytes(result) > self._largest

    async def fit(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result for a model; it names the file with the whole."""
        more = await self._keep(call, result) if self.is_large(result) else ""
        return fit_result(result, self._largest, more)

    async def _keep(self, call: ToolCall, result: ToolResult) -> str:
        if self.folder is None:
            return ""
        name = _UNNAMED.sub("-", call.full_name)[-60:]
        path = f"{FOLDER}/{name}-{hashlib.sha256(call.key.encode()).hexdigest()[:8]}.txt"
        data = whole_text(result.to_text()).encode()
        try:
            await asyncio.to_thread(_write, self.folder, path, data)
        except (OSError, UnsafePathError) as error:
            LOG.warning("a result of %s could not be kept: %s", call.full_name, describe(error))
            return " The rest could not be kept."
        self.kept = True
        return f" All of it is in the file {path} ({len(data):,} bytes)."


def _write(folder: Path, path: str, data: bytes) -> None:
    make_private(folder)
    write_file(folder, path, data)
