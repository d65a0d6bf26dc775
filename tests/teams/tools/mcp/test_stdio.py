"""The pipes of a server that is started as a process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from teams.tools.mcp import McpError, McpWorkbench, StdioServerParams
from teams.tools.mcp._stdio import LONGEST_LINE

QUICK = "tests.fakes.quick_mcp_server"


def server(code: str, seconds: float = 30.0) -> StdioServerParams:
    """A server that runs this code, and writes to `out`."""
    return StdioServerParams(
        command=sys.executable,
        args=["-c", f"import os, sys\nout = sys.stdout.buffer\n{code}"],
        read_timeout_seconds=seconds,
    )


async def error_of(params: StdioServerParams) -> str:
    with pytest.raises(McpError) as caught:
        async with McpWorkbench(params) as bench:
            await bench.list_tools()
    return str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "b'a' * 1_000_000",
        'b\'{"jsonrpc": "2.0", "x": "\' + b\'a\' * 1_000_000',
        "b'[' * 1_000_000",
        "'ü'.encode() * 1_000_000",
        "bytes(1_000_000)",
    ],
)
async def test_a_line_that_does_not_end_ends_the_server(line: str):
    said = await error_of(server(f"while True: out.write({line})"))
    assert f"A line has more than {LONGEST_LINE:,} characters." in said, said


async def test_what_is_no_text_ends_the_server():
    said = await error_of(server("out.write(b'\\xff\\n'); out.flush(); sys.stdin.read()"))
    assert "can't decode byte 0xff" in said, said


async def test_of_a_server_s_complaints_the_last_are_kept():
    code = "for _ in range(50): sys.stderr.write('x' * 1_000_000)\nsys.stderr.write('the end')"
    said = await error_of(server(code))
    assert said.endswith("the end"), said[-100:]
    assert len(said) < 3000


async def test_lines_that_are_no_messages_are_passed_over():
    run = f"echo hello; exec {sys.executable} -m {QUICK}"
    params = StdioServerParams(
        command="sh", args=["-c", run], cwd=Path(__file__).parents[4], read_timeout_seconds=30
    )
    async with McpWorkbench(params) as bench:
        assert "add" in {tool["name"] for tool in await bench.list_tools()}


async def test_a_server_that_does_not_end_is_killed_with_its_children(tmp_path: Path):
    code = f"""
import signal, subprocess, runpy
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=sys.stderr)
open({str(tmp_path / "pids")!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
runpy.run_module({QUICK!r}, run_name="__main__")
while True: signal.pause()
"""
    params = server(code).model_copy(update={"cwd": Path(__file__).parents[4]})
    async with McpWorkbench(params) as bench:
        await bench.list_tools()
    for pid in (tmp_path / "pids").read_text().split():
        async with asyncio.timeout(5):
            while _runs(pid):  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.01)


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
