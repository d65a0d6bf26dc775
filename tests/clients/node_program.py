"""A Node.js program as a test's client: it reports, and is told."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NODE = shutil.which("node")
INSTALLED = (HERE / "node_modules" / ".package-lock.json").exists()
PATIENCE = 60.0


class NodeProgram:
    """A running program of this folder.

    It writes its reports, and takes orders, as JSON objects: one a line, with the key "what". A
    report of an "error" fails the test. It ends when its standard input does.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def reports(self, what: str) -> dict[str, Any]:
        """The next report of that name; earlier others are skipped."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self._process.stdout.readline():
                report: dict[str, Any] = json.loads(line)
                assert report["what"] != "error", report
                if report["what"] == what:
                    return report
        raise AssertionError(f"the program ended before it reported {what!r}")

    async def does(self, what: str, **more: Any) -> dict[str, Any]:
        """Order something, and wait for the report of the same name."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"what": what, **more}).encode() + b"\n")
        await self._process.stdin.drain()
        return await self.reports(what)

    async def end(self) -> None:
        """End it by closing its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE / 2):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def node_program(script: str, environment: Mapping[str, str]) -> AsyncGenerator[NodeProgram]:
    """Run a script of this folder with nothing but these variables."""
    process = await asyncio.create_subprocess_exec(
        NODE or "node",
        str(HERE / script),
        env={"PATH": os.environ["PATH"], **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    program = NodeProgram(process)
    try:
        yield program
    finally:
        await program.end()
