"""`parley simulate discord`, typed in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.pty_process import PtyProcess

PARLEY = ("-c", "from gateway.cli import main; main()", "simulate", "discord")

pytestmark = pytest.mark.timeout(60)


def test_a_person_talks_with_the_demo_team(tmp_path: Path) -> None:
    with PtyProcess(*PARLEY, folder=tmp_path) as terminal:
        terminal.until("alice #general>")
        terminal.type("@parley what is 6*7?\n")
        terminal.until("42")
        terminal.type("/in dm\n")
        terminal.until("alice direct>")
        terminal.type("/quit\n")
        assert terminal.ended() == 0


def test_a_simulation_alone_says_how_to_reach_it(tmp_path: Path) -> None:
    with PtyProcess(*PARLEY, "--alone", folder=tmp_path) as terminal:
        terminal.until("[adapters.discord]")
        terminal.until('api_url = "http://127.0.0.1:')
        terminal.until("alice #general>")
        terminal.type("hello\n")
        terminal.until("the application is not connected")
        terminal.type("/quit\n")
        assert terminal.ended() == 0
