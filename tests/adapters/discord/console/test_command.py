"""`parley simulate discord`, typed in a real terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from adapters.simulation.terminal import Terminal
from tests.fakes.pty_process import PtyProcess

PARLEY = ("gateway.cli", "simulate", "discord")

pytestmark = pytest.mark.timeout(60)


@pytest.mark.chaos
def test_a_person_talks_with_the_demo_team(tmp_path: Path) -> None:
    with PtyProcess(*PARLEY, folder=tmp_path) as terminal:
        terminal.until("alice #general>")
        terminal.type("@parley what is 6*7?\n")
        terminal.until("42")
        terminal.type("/in dm\n")
        terminal.until("alice direct>")
        terminal.type("/quit\n")
        assert terminal.ended() == 0


@pytest.mark.chaos
def test_a_simulation_alone_says_how_to_reach_it(tmp_path: Path) -> None:
    with PtyProcess(*PARLEY, "--alone", folder=tmp_path) as terminal:
        terminal.until("[adapters.discord]")
        terminal.until('api_url = "http://127.0.0.1:')
        terminal.until("alice #general>")
        terminal.type("hello\n")
        terminal.until("the application is not connected")
        terminal.type("/quit\n")
        assert terminal.ended() == 0


class Window(io.StringIO):
    """A terminal whose window may be closed."""

    open = True

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not self.open:
            raise OSError(5, "Input/output error")
        return super().write(text)


def test_what_is_written_to_a_window_that_was_just_closed_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = Window()
    monkeypatch.setattr(sys, "stdin", window)
    monkeypatch.setattr(sys, "stdout", window)
    terminal = Terminal()
    terminal.write("seen")
    window.open = False
    terminal.write("not seen")
    assert window.getvalue().endswith("seen\n")
