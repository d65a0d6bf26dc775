"""The served process, and its store as it stands on the disk."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from gateway.store.sqlite.integrity import check_whole
from tests.chaos.campaign.platform import Platform
from tests.fakes.forked import ForkedProcess, forked

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
default_team = "desk"
store = {{ folder = "store" }}
health = {{ port = 0 }}

[limits]
parallel_turns = 32
person_parallel_turns = 32
person_turns = 100000
collect_seconds = 0.3
shutdown_seconds = 1.0

[models.gpt]
model = "gpt-4o"
base_url = "{model_url}"
api_key = "sk-none"

[teams.desk]
type = "round_robin"
max_turns = 1

[teams.desk.agents.helper]
tools = [
    "tests.chaos.campaign.tools:note",
    "tests.chaos.campaign.tools:pay",
    "gateway.human_tools:ask_human",
]

[policies.tools]
default = "allow"
ask_human = "allow"
note = {{ action = "allow", output = "trusted", approvers = ["asker"] }}
pay = {{ action = "ask", output = "trusted", approvers = ["asker"], expires_hours = 0 }}
"""
PATIENCE = 30.0
"""Seconds that a process has to connect, or to end."""
GAPS = "SELECT count(*) FROM gaps"
OPEN_TURNS = "SELECT count(*) FROM turns WHERE status IN ('running', 'paused')"
WAITING = """
SELECT count(*) FROM inbox WHERE outcome = 'queued'
AND thread NOT IN (SELECT thread FROM turns WHERE status = 'waiting')
"""
REQUESTS = """
SELECT requests.kind, requests.prompt || ' ' || requests.arguments, turns.author
FROM requests JOIN turns ON turns.id = requests.turn WHERE requests.state = 'open'
"""
UNTOLD = """
SELECT count(*) FROM deliveries
WHERE told < (SELECT max(seq) FROM events WHERE events.thread = deliveries.thread)
"""
"""Threads of which the platform does not show everything yet."""


class NotServed(Exception):
    """The process does not serve; the text has its log's end."""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request to people: its message, and the turn's author."""

    approval: bool
    n: int
    author: str


class ServedProcess:
    """`parley serve`, started and ended as often as the plan wants it."""

    def __init__(self, folder: Path, platform: Platform, model_url: str, ahead: Path) -> None:
        self._folder = folder
        self._platform = platform
        self._process: ForkedProcess | None = None
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "AHEAD": str(ahead),
            "EFFECTS": str(folder / "effects"),
        }
        config = CONFIG.format(model_url=model_url) + platform.settings
        (folder / "config.toml").write_text(config, encoding="utf-8")
        (folder / "effects").touch()

    @property
    def store(self) -> Path:
        """The store's database."""
        return self._folder / "store" / "parley.db"

    @property
    def running(self) -> bool:
        """True while there is a process."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it, and wait until it is connected. Raises NotServed."""
        await self._until(lambda: self._platform.gone)
        self._process = await self._forked("serve")
        await self.connected()

    async def connected(self) -> None:
        """Wait until the platform can reach it. Raises NotServed."""
        await self._until(lambda: self._platform.connected or not self.running)
        if not self.running:
            raise NotServed(self._log_end())

    async def cut_off(self) -> None:
        """Wait until it has noticed that its connection was cut. Raises NotServed."""
        await self._until(lambda: self._platform.turned_away)

    def freeze(self) -> None:
        """Let it stand still, as a machine that sleeps does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        """End it at once, as kill -9 does."""
        if self._process is not None and self.running:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """End it in order. Raises NotServed if that fails."""
        if self._process is None or not self.running:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            code = await asyncio.wait_for(self._process.wait(), PATIENCE)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            raise NotServed(f"it did not end\n{self._log_end()}") from None
        if code != 0:
            raise NotServed(f"exit code {code}\n{self._log_end()}")

    async def back_up(self) -> None:
        """Copy its store. Raises NotServed."""
        await self._operate("backup")

    async def restore(self) -> None:
        """Let the copy replace its store, while it runs. Raises NotServed."""
        await self._operate("restore")
        await self.connected()

    async def _operate(self, command: str) -> None:
        process = await self._forked("store", command, str(self._folder / "copy.db"))
        if await process.wait():
            raise NotServed(f"{command} failed\n{self._log_end()}")

    async def _forked(self, *words: str) -> ForkedProcess:
        """A process of `parley`."""
        return await forked(
            *("tests.chaos.campaign.child", *words),
            *("--config", str(self._folder / "config.toml")),
            folder=self._folder,
            environment=self._environment,
            log=self._folder / "log",
        )

    def effects(self) -> list[str]:
        """Effects of the tools: the tool and the mark."""
        return (self._folder / "effects").read_text().splitlines()

    def faults(self) -> list[str]:
        """Faults of the store that `parley store check` finds."""
        if self.running or not self.store.exists():
            return []
        return [f"{each.thread} {each.text}" for each in check_whole(self.store, in_use=False)]

    def at_rest(self) -> bool:
        """True if all is told, and messages wait for people alone."""
        rows = (*self.read(OPEN_TURNS), *self.read(WAITING), *self.read(GAPS), *self.read(UNTOLD))
        return not any(count for (count,) in rows)

    def open_requests(self) -> list[OpenRequest]:
        """Requests that wait for people."""
        return [
            OpenRequest(kind == "approval", int(number[1]), author)
            for kind, asked, author in self.read(REQUESTS)
            if (number := re.search(r"m(\d{4})", asked))
        ]

    def read(self, query: str) -> list[tuple]:
        """Rows of the store as committed; none before there is one."""
        if not self.store.exists():
            return []
        with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=10)) as store:
            return store.execute(query).fetchall()

    async def _until(self, holds) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():  # noqa: ASYNC110 (a process tells nobody)
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise NotServed(f"it did not come in {PATIENCE:g} s\n{self._log_end()}") from None

    def _log_end(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-4000:]
