"""`parley` as a process, set up as docs/slack.md says."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.slack.testing import SlackSimulator
from tests.fakes.forked import ForkedProcess, forked

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "slack.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)( no-run)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVED = '\n[logging]\nlevel = "debug"\n\n[health]\nport = 0\n'
TOML = [found[3] for found in BLOCK.finditer(PAGE) if found[1] == "toml"]


def free_port() -> int:
    """A port that nobody else is given while this process lives.

    It stays bound, and whoever listens may share it: a server sets SO_REUSEADDR, too.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    atexit.register(held.close)
    return int(held.getsockname()[1])


def settings(block: str, slack: SlackSimulator, port: int) -> str:
    """A settings block of the page, for the simulated Slack.

    In the file of the page's first block, with the simulator's address and ids, and a free port.
    Health is not served: other processes of the tests would want the same port.
    """
    head, _, rest = TOML[0].partition("[adapters.slack]")
    _, _, others = rest.partition("[[routes]]")
    whole = TOML[0] if block == TOML[0] else f"{head}{block}\n[[routes]]{others}"
    here = f'[adapters.slack]\napi_url = "{slack.api_url}"\nport = {port}'
    whole = whole.replace("port = 3000\n", "").replace("[adapters.slack]", here)
    whole = whole.replace("1234567890.1234567890", slack.world.app.client_id)
    return whole.replace("T0123ABCD", "T0HOME").replace("U0123ABCD", "U0BOSS") + SERVED


def write(folder: Path, config: str) -> None:
    (folder / "config.toml").write_text(config, encoding="utf-8")


@dataclass
class Shell:
    """A folder to run commands in; `secrets` must never be printed."""

    folder: Path
    environment: dict[str, str]
    secrets: list[str] = field(default_factory=list[str])
    log: str = ""
    """Lines of the last `parley serve`."""

    async def output(self, command: str) -> str:
        """The output of a command, which must succeed."""
        process, printed = await self._start(command)
        code, written = await process.wait(), printed.read_text()
        assert code == 0, written
        return self._checked(written)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[ForkedProcess]:
        """`parley serve`, which ends in order unless it was killed."""
        process, printed = await self._start("parley serve")
        try:
            yield process
        finally:
            process.terminate()
            code, written = await process.wait(), printed.read_text()
            assert code in (0, -9), written
        self.log = text = self._checked(written)
        # A killed one has not written the lines of its last moment.
        assert code or "serving slack" in text

    async def _start(self, command: str) -> tuple[ForkedProcess, Path]:
        """A process, and the file of what it prints."""
        config = self.folder / "config.toml"  # named: nobody is there to be asked about a found one
        printed = self.folder / f"printed{len([*self.folder.glob('printed*')])}"
        printed.touch()
        process = await forked(
            *("gateway.cli", *shlex.split(command)[1:]),
            folder=self.folder,
            environment={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "XDG_DATA_HOME": str(self.folder),
                **self.environment,
                **({"PARLEY_CONFIG": str(config)} if config.exists() else {}),
            },
            log=printed,
        )
        return process, printed

    def _checked(self, text: str) -> str:
        for secret in self.secrets:
            assert secret not in text
        return text
