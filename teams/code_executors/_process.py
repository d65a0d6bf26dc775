"""A process in its own group, which ends as a whole."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from teams._base.code import CodeResult
from teams.code_executors._output import BoundedOutput

TIMED_OUT = 124
"""The exit code of what took too long, as of timeout(1)."""
NOT_FOUND = 127
"""The exit code where the program is missing, as in a shell."""

DRAIN_SECONDS = 0.5


async def run_process(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], seconds: float
) -> CodeResult:
    """Run a command without input; return exit code and output.

    When this returns or raises, nothing of the process group is left: children that outlive the
    command are killed with it. A process that starts a session of its own gets away.
    """
    starting = asyncio.get_running_loop().create_task(
        _start(command, folder, environment), name="start of code"
    )
    try:
        transport, process = await asyncio.shield(starting)
    except FileNotFoundError:
        return CodeResult(exit_code=NOT_FOUND, output=f"{command[0]} is not installed.\n")
    except asyncio.CancelledError:
        # Half started, it would be nobody's: let it begin, and end it then.
        await asyncio.wait({starting})
        if starting.exception() is None:
            await _end(*starting.result())
        raise
    timed_out = False
    try:
        async with asyncio.timeout(seconds):
            await process.exited.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await _end(transport, process)
    output = process.output.text()
    if timed_out:
        return CodeResult(TIMED_OUT, f"{output}\nStopped after {seconds:g} s: it took too long.\n")
    return CodeResult(exit_code=cast("int", transport.get_returncode()), output=output)


async def _start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[asyncio.SubprocessTransport, _Process]:
    return await asyncio.get_running_loop().subprocess_exec(
        _Process,
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )


async def _end(transport: asyncio.SubprocessTransport, process: _Process) -> None:
    _kill_group(transport.get_pid())
    await process.exited.wait()
    with suppress(TimeoutError):  # somebody who got away may hold the pipe
        async with asyncio.timeout(DRAIN_SECONDS):
            await process.drained.wait()
    transport.close()


class _Process(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.output = BoundedOutput()
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output.add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.drained.set()

    def process_exited(self) -> None:
        self.exited.set()


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # gone; macOS refuses for zombies
        os.killpg(leader, signal.SIGKILL)
