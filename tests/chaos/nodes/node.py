"""A node: `parley serve` with its own folder, clock and proxy."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

from tests.chaos.nodes.clock import NodeClock
from tests.fakes.forked import ForkedProcess, forked
from tests.fakes.tcp_proxy import TcpProxy

ROOT = Path(__file__).resolve().parents[3]
SERVES = re.compile(rb"\"serving [a-z]|INFO +gateway +serving ")
FENCED = re.compile(
    rb"taken the store over|is being worked on elsewhere|is cut off from its database"
)
"""Errors in a log that refuse a late write, post or tool."""

COMMAND_SECONDS = 60.0


class Node:
    """One `parley serve`, started and ended by a plan."""

    def __init__(self, number: int, folder: Path, proxy: TcpProxy, config: str) -> None:
        self.number = number
        self.folder = folder / f"node{number}"
        self.folder.mkdir()
        self.proxy = proxy
        self.clock = NodeClock(self.folder)
        self.log = self.folder / "log"
        self.log.touch()
        self._process: ForkedProcess | None = None
        self._served = 0
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            **self.clock.environment,
            "EFFECTS": str(folder / "effects"),
            "PARLEY_STORE_URL": f"{proxy.url}?connect_timeout=2",
        }
        self.configure(config)

    def configure(self, config: str) -> None:
        """Write the config, which is the same for all nodes."""
        (self.folder / "config.toml").write_text(config, encoding="utf-8")

    @property
    def running(self) -> bool:
        """True while there is a process."""
        return self._process is not None and self._process.returncode is None

    @property
    def serves(self) -> bool:
        """True once it serves since `start` or `watch_for_serving`."""
        return self._starts() > self._served

    @property
    def fenced(self) -> int:
        """Lines of its log about what came too late."""
        return sum(bool(FENCED.search(line)) for line in self.log.read_bytes().splitlines())

    def is_named(self, name: str) -> bool:
        """True if this is its name among the nodes."""
        return self._process is not None and f"process {self._process.pid} " in f"{name} "

    async def start(self) -> None:
        """Start it, and do not wait for more."""
        self.watch_for_serving()
        self._process = await forked(
            *("tests.chaos.campaign.child", "serve", "--config", "config.toml"),
            folder=self.folder,
            environment=self._environment,
            log=self.log,
        )

    def watch_for_serving(self) -> None:
        """Let it serve anew before `serves` is true."""
        self._served = self._starts()

    async def kill(self) -> None:
        """End it at once, as kill -9 does."""
        if self._process is not None and self.running:
            self._process.kill()
            await self.ended()

    def freeze(self) -> None:
        """Let it stand still."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Have it end in order."""
        self._signal(signal.SIGTERM)

    async def ended(self) -> int:
        """Its exit code, once it has ended."""
        assert self._process is not None
        return await self._process.wait()

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output of a command beside this node. Raises TimeoutError."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway.cli", *arguments, "--config", "config.toml"),
            cwd=self.folder,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return process.returncode, output.decode(errors="replace")

    def log_end(self) -> str:
        """The last lines of its log."""
        return self.log.read_text(errors="replace")[-3000:]

    def _starts(self) -> int:
        return len(SERVES.findall(self.log.read_bytes()))

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
