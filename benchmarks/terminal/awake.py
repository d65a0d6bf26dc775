"""Wakefulness of the chat, from its start to the first answer."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.terminal.paint import COMPOSER, EMPTY_APP, READY
from benchmarks.terminal.screen import ROOT, Screen

CHAT = str(ROOT / "benchmarks/terminal/watched_chat.py")
KEY, BACKSPACE, ENTER, QUIT = "Q", "\x7f", "\r", "/quit\r"
"""The first key stands nowhere on the screen before it is typed."""
QUESTION, ANSWER = "what is 1000 + 234?", "1234"
CONFIG = """
[models.m]
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-none"
[teams.t]
type = "round_robin"
max_turns = 1
[teams.t.agents.a]
"""


@dataclass(slots=True)
class Starts:
    """Seconds from the start, by run.

    `stall` is the longest of the event loop.

    `stall_cpu` is the most CPU that the process took in a stall: what other programs do does not
    count there.
    """

    paint: list[float] = field(default_factory=list[float])
    key: list[float] = field(default_factory=list[float])
    ready: list[float] = field(default_factory=list[float])
    stall: list[float] = field(default_factory=list[float])
    stall_cpu: list[float] = field(default_factory=list[float])

    def add_chat(self, *options: str) -> None:
        """Start the chat, type at once, send when it is ready."""
        with tempfile.TemporaryDirectory() as place:
            stalls = Path(place) / "stalls.json"
            arguments = CHAT, str(stalls), "chat", "--new", *options
            with Screen(*arguments, folder=Path(place)) as screen:
                painted = self._add_key(screen)
                screen.type(BACKSPACE)
                self.ready.append(screen.until_shown(READY) - screen.started)
                screen.type(QUESTION)
                screen.type(ENTER)
                answered = screen.until_shown(ANSWER)
                screen.until_shown(READY)
                screen.type(QUIT)
                screen.ended()
            told: list[tuple[float, float, float]] = json.loads(stalls.read_text())
            seen = [each for each in told if painted <= each[0] <= answered]
            self.stall.append(max((stall for _, stall, _ in seen), default=0.0))
            self.stall_cpu.append(max((cpu for _, _, cpu in seen), default=0.0))

    def add_empty(self) -> None:
        """Start the empty application, and type at once."""
        with (
            tempfile.TemporaryDirectory() as place,
            Screen(EMPTY_APP, folder=Path(place)) as screen,
        ):
            self._add_key(screen)

    def _add_key(self, screen: Screen) -> float:
        painted = screen.until_shown(COMPOSER)
        screen.type(KEY)
        self.key.append(screen.until_shown(KEY) - screen.started)
        self.paint.append(painted - screen.started)
        return painted


def starts(runs: int) -> tuple[Starts, Starts, Starts]:
    """Runs of the demo team, OpenAI's SDK, and an empty application."""
    demo, sdk, empty = Starts(), Starts(), Starts()
    with _config(1 + runs) as config:
        Starts().add_chat("--config", config)  # warms the file cache
        for _ in range(runs):
            empty.add_empty()
            demo.add_chat()
            sdk.add_chat("--config", config)
    return demo, sdk, empty


@contextmanager
def _config(answers: int) -> Generator[str]:
    """A config for a scripted server, which runs meanwhile."""
    with tempfile.TemporaryDirectory() as place:
        script, config = Path(place) / "answers.json", Path(place) / "config.toml"
        script.write_text(json.dumps([{"text": f"It is {ANSWER}."}] * answers))
        command = [sys.executable, "-m", "tests.fakes.openai_server", "--script", str(script)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                port = server.stdout.readline().strip()
                config.write_text(CONFIG.format(url=f"http://127.0.0.1:{port}/v1"))
                yield str(config)
            finally:
                server.kill()
