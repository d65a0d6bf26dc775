"""The pipes of a server that is a process, read within bounds."""

from __future__ import annotations

import asyncio
import codecs
import io
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from teams._base.bounded.gate import Bounds
from teams.code_executors._output import BoundedOutput
from teams.tools.mcp._params import StdioServerParams

LONGEST_LINE = Bounds().piece
"""Characters of a message, as for one over HTTP."""
_STEP = 65_536
_PATIENCE = 2.0
"""Seconds that a server has to end by itself, and again after SIGTERM."""
_LOOK = 0.01
_REST = 0.5
"""Seconds for what an ended server has left in its pipes: unread, they stay open."""


@asynccontextmanager
async def stdio_streams(
    params: StdioServerParams,
    complaints: BoundedOutput,
    parse: Callable[[str], Any],
    dump: Callable[[Any], str],
) -> AsyncGenerator[tuple[Any, Any]]:
    """Messages from the server, and those to it, while it runs.

    `parse` makes a message of a line and `dump` a line of a message; `complaints` are its other
    output. Raises OSError for a command that can't be started.
    """
    import anyio  # here and below: `mcp` needs it
    from mcp.client.stdio import get_default_environment  # an optional package

    process = await asyncio.create_subprocess_exec(
        params.command,
        *params.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=get_default_environment() | (params.env or {}),
        cwd=params.cwd,
        start_new_session=True,
        limit=_STEP,
    )
    heard, hear = anyio.create_memory_object_stream[Any](0)
    say, said = anyio.create_memory_object_stream[Any](0)
    try:
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(
                _hear(process, params, heard, parse, complaints), name="mcp out"
            )
            saying = group.create_task(_say(process, params, said, dump), name="mcp in")
            noting = group.create_task(_note(process, complaints), name="mcp errors")
            try:
                yield hear, say
            finally:
                hear.close()
                say.close()
                await _end(process)
                await asyncio.wait([hearing, noting], timeout=_REST)
                for task in (hearing, saying, noting):
                    task.cancel()
    finally:
        _kill(process, signal.SIGKILL)
        with anyio.CancelScope(shield=True):  # what is not waited for stays open
            await _has_ended(process)
        for stream in (heard, hear, say, said):
            stream.close()


async def _hear(
    process: asyncio.subprocess.Process,
    params: StdioServerParams,
    heard: Any,
    parse: Callable[[str], Any],
    complaints: BoundedOutput,
) -> None:
    import anyio  # which comes with it

    assert process.stdout is not None, "the process has pipes"
    with heard, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        try:
            async for line in _lines(process.stdout, params):
                await heard.send(parse(line))
        except ValueError as error:
            complaints.add(f"\n{error}".encode())
            _kill(process, signal.SIGKILL)
    while await process.stdout.read(_STEP):
        pass  # a server that can't write does not read that it shall end


async def _lines(pipe: asyncio.StreamReader, params: StdioServerParams) -> AsyncGenerator[str]:
    """Lines of the pipe. Raises ValueError for long ones and no text."""
    decoder = codecs.getincrementaldecoder(params.encoding)(params.encoding_error_handler)
    held = io.StringIO()
    while data := await pipe.read(_STEP):
        *ends, rest = decoder.decode(data).split("\n")
        for end in ends:
            held.write(end)
            yield held.getvalue()
            held = io.StringIO()
        held.write(rest)
        if held.tell() > LONGEST_LINE:
            raise ValueError(f"A line has more than {LONGEST_LINE:,} characters.")


async def _say(
    process: asyncio.subprocess.Process,
    params: StdioServerParams,
    said: Any,
    dump: Callable[[Any], str],
) -> None:
    assert process.stdin is not None, "the process has pipes"
    with said, suppress(OSError):
        async for message in said:
            line = f"{dump(message)}\n"
            process.stdin.write(line.encode(params.encoding, params.encoding_error_handler))
            await process.stdin.drain()


async def _note(process: asyncio.subprocess.Process, complaints: BoundedOutput) -> None:
    assert process.stderr is not None, "the process has pipes"
    while data := await process.stderr.read(_STEP):
        complaints.add(data)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the server's input, and have it end."""
    assert process.stdin is not None, "the process has pipes"
    process.stdin.close()
    if not await _has_ended(process):
        _kill(process, signal.SIGTERM)
        await _has_ended(process)
    _kill(process, signal.SIGKILL)


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    """True if it ends in time.

    Not by `wait`, as a child of its own may hold the pipes.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while process.returncode is None:  # noqa: ASYNC110 (nothing else says it, see above)
                await asyncio.sleep(_LOOK)
    return process.returncode is not None


def _kill(process: asyncio.subprocess.Process, how: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, how)
