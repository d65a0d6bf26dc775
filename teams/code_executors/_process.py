"""One process in a group of its own, which ends as a whole."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from teams.code_executor import CodeResult
from teams.code_executors._output import BoundedOutput

TIMED_OUT = 124
"""The exit code of what took too long, as of timeout(1)."""
NOT_FOUND = 127
"""The exit code where the program is missing, as in a shell."""

DRAIN_SECONDS = 0.5


async def run_process(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], seconds: float
) -> CodeResult:
    """Run a command without input; its exit code and what it and its children wrote.

    When this returns or raises, nothing of the process group is left: children that outlive the
    command are killed with it. A process that starts a session of its own gets away.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.subprocess_exec(
            _Process,
            *command,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        return CodeResult(exit_code=NOT_FOUND, output=f"{command[0]} is not installed.\n")
    timed_out = False
    try:
        async with asyncio.timeout(seconds):
            await protocol.exited.wait()
    except TimeoutError:
        timed_out = True
    finally:
        _kill_group(transport.get_pid())
        await protocol.exited.wait()
        with suppress(TimeoutError):  # somebody who got away may hold the pipe
            async with asyncio.timeout(DRAIN_SECONDS):
                await protocol.drained.wait()
        transport.close()
    output = protocol.output.text()
    if timed_out:
        return CodeResult(TIMED_OUT, f"{output}\nStopped after {seconds:g} s: it took too long.\n")
    return CodeResult(exit_code=cast("int", transport.get_returncode()), output=output)


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
