"""The output of code within bounds, and results joined block by block."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.code import CodeResult
from teams._run.merge import is_being_cancelled

KEPT = 64 * 1024
"""Bytes kept of the beginning, and as many of the end."""
CANCELLED = 125
"""The exit code of an execution that its token cancelled."""

Result = TypeVar("Result", bound=CodeResult)


class BoundedOutput:
    """Keeps the beginning and end of a stream of bytes, within bounds."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        room = self._kept - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._kept:  # not at each byte: cutting costs a copy
            self._cut()

    def text(self) -> str:
        """The output as text, with a line on what was left out."""
        self._cut()
        gap = f"\n[... {self._left_out} bytes left out ...]\n" if self._left_out else ""
        # A character cut in half at the gap becomes a replacement character.
        if not gap:
            return (self._head + self._tail).decode(errors="replace")
        return self._head.decode(errors="replace") + gap + self._tail.decode(errors="replace")

    def _cut(self) -> None:
        if (excess := len(self._tail) - self._kept) > 0:
            del self._tail[:excess]
            self._left_out += excess


async def filled_until_cancelled(
    work: Coroutine[Any, Any, None], done: Result, token: CancellationToken
) -> Result:
    """The result that the work fills until the token ends it."""
    try:
        await run_cancellable(work, token)
    except asyncio.CancelledError:
        if is_being_cancelled() or not token.is_cancelled():
            raise
        append_result(done, CodeResult(CANCELLED, "The execution was cancelled.\n"))
    return done


def append_result(done: CodeResult, result: CodeResult) -> None:
    """Add the result of the next block."""
    joint = "\n" if done.output and not done.output.endswith("\n") else ""
    done.exit_code, done.output = result.exit_code, done.output + joint + result.output
