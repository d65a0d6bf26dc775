"""The real `parley` process on a pseudo-terminal, with controlled tools."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import signal
import struct
import termios
from collections import defaultdict
from pathlib import Path
from typing import Any, Self

from tests.fakes.forked import fork, forked
from tests.fakes.new_store import store_table

ROOT = Path(__file__).resolve().parents[2]
ESCAPES = re.compile(
    r"\x1b(\[[0-9;?<>=:]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[PX^_].*?\x1b\\|.)", re.S
)

TOOLS = '''
"""Tools that tell the test when they begin, wait for its word, and leave one line each they ran."""
import asyncio, os

async def _step(name):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["STEPS_PORT"]))
    writer.write(name.encode() + b"\\n")
    await writer.drain()
    await reader.readline()
    writer.close()
    with open(os.environ["EFFECTS"], "a") as effects:
        effects.write(name + "\\n")
    return name + " is done"

async def alpha() -> str:
    "First."
    return await _step("alpha")

async def beta() -> str:
    "Second."
    return await _step("beta")

async def gamma() -> str:
    "Third."
    return await _step("gamma")
'''

CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key_env = "TEST_KEY"
options = {{ max_retries = 0 }}

[teams.crew]
type = "swarm"
participants = ["desk", "expert"]
termination = "TextMessage('desk') | TextMessage('expert')"

[teams.crew.agents.desk]
system_message = "You are the desk."
handoffs = ["expert"]
tools = ["steps:alpha", "steps:beta", "steps:gamma"]
max_tool_iterations = 3

[teams.crew.agents.expert]
system_message = "You are the expert."
handoffs = ["desk"]

[policies.tools]
default = "{action}"

{store}"""


class Steps:
    """Tool reports: a test waits for a call and lets it continue."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._news = asyncio.Condition()
        self._waiting: dict[str, list[asyncio.StreamWriter]] = defaultdict(list)
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._called, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for writers in self._waiting.values():
            for writer in writers:
                writer.close()
        self._server.close()
        await self._server.wait_closed()

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = (await reader.readline()).decode().strip()
        async with self._news:
            self.begun.append(name)
            self._waiting[name].append(writer)
            self._news.notify_all()

    async def reached(self, name: str, times: int = 1) -> None:
        """Return once the tool has begun so many times."""
        async with self._news:
            await self._news.wait_for(lambda: self.begun.count(name) >= times)

    async def go(self, name: str) -> None:
        """Let the tool's latest call do its work."""
        writer = self._waiting[name].pop()
        writer.write(b"go\n")
        await writer.drain()
        writer.close()


class Parley:
    """One process and its output, without escape sequences."""

    def __init__(
        self, folder: Path, *arguments: str, steps: Steps, size: tuple[int, int] = (30, 100)
    ):
        self.folder = folder
        self._arguments = arguments
        self._steps = steps
        self._size = size
        self._raw = bytearray()
        self._news = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._master, self._slave = os.openpty()
        rows, columns = self._size
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = await forked(
            *("gateway.cli", *self._arguments),
            folder=self.folder,
            environment=environment(self.folder, self._steps.port),
            log=Path(os.ttyname(self._slave)),
        )
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.kill()
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        os.close(self._slave)

    def _read(self) -> None:
        try:
            self._raw += os.read(self._master, 65536)
        except BlockingIOError:
            return
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self._master)
        self._news.set()

    @property
    def text(self) -> str:
        """Everything written so far."""
        return ESCAPES.sub("", self._raw.decode(errors="replace"))

    @property
    def raw(self) -> bytes:
        """The same with its escape sequences."""
        return bytes(self._raw)

    async def shows(self, text: str, times: int = 1) -> None:
        """Return once the text appeared that often; white space is ignored."""
        wanted = "".join(text.split())
        while "".join(self.text.split()).count(wanted) < times:
            if self.process.returncode is not None and not await self._more():
                raise AssertionError(
                    f"exited with {self.process.returncode} without {text!r}:\n{self.text}"
                )
            await self._more()

    async def _more(self) -> bool:
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), 1)
        except TimeoutError:
            return False
        return True

    def types(self, text: str) -> None:
        """Press these keys."""
        os.write(self._master, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def kill(self, sign: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal; after SIGKILL the process is gone when this returns."""
        self.process.send_signal(sign)
        if sign is signal.SIGKILL:
            self.process.join(10)

    async def exited(self) -> int:
        """The exit code, once the process is gone."""
        async with asyncio.timeout(10):
            return await self.process.wait()


def environment(folder: Path, port: int) -> dict[str, str]:
    """An environment without anything of this machine's user."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "PARLEY_CONFIG": str(folder / "config.toml"),
        "TEXTUAL_ANIMATIONS": "none",
        "TEST_KEY": "test-key",
        "STEPS_PORT": str(port),
        "EFFECTS": str(folder / "effects"),
    }


def set_up(folder: Path, url: str, *, action: str = "allow") -> None:
    """A config and its tools."""
    (folder / "steps.py").write_text(TOOLS)
    store = store_table(folder / "store")
    (folder / "config.toml").write_text(CONFIG.format(url=url, action=action, store=store))
    (folder / "effects").touch()


def effects(folder: Path) -> list[str]:
    """Effects of the tools, in order."""
    return (folder / "effects").read_text().split()


def stored_events(folder: Path, port: int = 0) -> list[dict[str, Any]]:
    """The only thread's events, by the command a user has for it."""
    listed = _parley(folder, port, "sessions", "list")
    thread = listed.splitlines()[1].split()[0]
    exported = _parley(folder, port, "sessions", "export", thread)
    return [json.loads(line) for line in exported.splitlines()]


def _parley(folder: Path, port: int, *arguments: str) -> str:
    out = folder / "printed"
    out.unlink(missing_ok=True)
    process = fork(
        *("gateway.cli", *arguments), folder=folder, environment=environment(folder, port), log=out
    )
    assert process.join(30) == 0, out.read_text()
    return out.read_text()
