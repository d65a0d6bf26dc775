"""`parley` as a process in its own folder, beside a simulated Slack."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass
class Shell:
    """A folder to run commands in; `secrets` must never be printed."""

    folder: Path
    environment: dict[str, str]
    secrets: list[str] = field(default_factory=list[str])

    async def output(self, command: str) -> str:
        """The output of a command, which must succeed."""
        process = await self._start(command)
        written, _ = await process.communicate()
        assert process.returncode == 0, written.decode()
        return self._checked(written)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[asyncio.subprocess.Process]:
        """`parley serve`, which ends in order unless it was killed."""
        process = await self._start("parley serve")
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            written, _ = await process.communicate()
        assert process.returncode in (0, -9), written.decode()
        assert "serving slack" in self._checked(written)

    async def _start(self, command: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway.cli", *shlex.split(command)[1:]),
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "XDG_DATA_HOME": str(self.folder),
                **self.environment,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    def _checked(self, written: bytes) -> str:
        text = written.decode()
        for secret in self.secrets:
            assert secret not in text
        return text
