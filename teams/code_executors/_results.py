"""Results of executions: joined block by block, and ended by a token."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from teams._base.cancellation import CancellationToken, run_cancellable
from teams._base.code import CodeResult
from teams._run.merge import is_being_cancelled

CANCELLED = 125
"""The exit code of an execution that its token cancelled."""

Result = TypeVar("Result", bound=CodeResult)


async def filled_until_cancelled(
    work: Coroutine[Any, Any, None], done: Result, token: CancellationToken
) -> Result:
    """The result that the work fills; it says so if the token ends the work."""
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
