"""A long streamed answer on the screen, and a scrolled thread."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from benchmarks.terminal.chat_app import FIRST, LAST
from benchmarks.terminal.screen import Screen

PROGRAM = ("-m", "benchmarks.terminal.chat_app")
READY = "ready"
PAGE_UP, CTRL_END, ENTER, CTRL_C = "\x1b[5~", "\x1b[1;5F", "\r", "\x03"


def streamed(scene: str) -> dict[str, float]:
    """20,000 characters at 200 pieces per second.

    Measured: seconds on the screen (10 at best), seconds of CPU, stalls of the event loop, bytes
    sent to the terminal, mounted widgets.
    """
    with (
        tempfile.TemporaryDirectory() as place,
        Screen(*PROGRAM, place, scene, folder=Path(place), width=120, height=40) as screen,
    ):
        screen.until_shown(READY)
        screen.rest(1.0)
        cpu, written = screen.cpu(), screen.bytes_written
        screen.type("go")
        screen.type(ENTER)
        begun = screen.until_shown(FIRST)
        ended = screen.until_shown(LAST)
        screen.rest(0.5)
        figures = {
            "wall": ended - begun,
            "cpu": screen.cpu() - cpu,
            "bytes": float(screen.bytes_written - written),
        }
        leave(screen)
        return figures | json.loads((Path(place) / "measured.json").read_text())


def long_thread(pages: int = 20) -> dict[str, float]:
    """A thread of 1,000 messages.

    Measured: seconds of CPU for a page up, for one more exchange, and how many widgets were mounted
    at most.
    """
    with (
        tempfile.TemporaryDirectory() as place,
        Screen(*PROGRAM, place, "long", folder=Path(place), width=120, height=40) as screen,
    ):
        screen.until_shown(READY)
        screen.rest(2.0)
        cpu = screen.cpu()
        for _ in range(pages):
            screen.type(PAGE_UP)
            screen.rest(0.3)
        scroll = (screen.cpu() - cpu) / pages
        screen.type(CTRL_END)
        screen.rest(2.0)
        cpu, exchanges = screen.cpu(), 10
        for _ in range(exchanges):
            screen.type("more")
            screen.type(ENTER)
            screen.rest(0.6)
        append = (screen.cpu() - cpu) / exchanges
        leave(screen)
        measured = json.loads((Path(place) / "measured.json").read_text())
        return {"scroll": scroll, "append": append, "widgets": measured["widgets"]}


def leave(screen: Screen) -> None:
    """Quit the chat."""
    screen.type(CTRL_C)
    time.sleep(0.3)
    screen.type(CTRL_C)
    screen.ended()
