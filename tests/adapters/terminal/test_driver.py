"""The terminal is given back at ctrl+z, and taken again."""

from pathlib import Path

import pytest

from tests.fakes.pty_process import PtyProcess

pytestmark = pytest.mark.chaos
CHAT = "from gateway.cli import main; main()"
SHELL = f"""
import os, signal, subprocess, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def go_on(number):
    os.tcsetpgrp(0, child.pid)
    os.killpg(child.pid, number)
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpid())
    return status
child = subprocess.Popen([sys.executable, "-c", {CHAT!r}, "chat"], process_group=0)
status = go_on(signal.SIGCONT)
print("STOPPED", os.WIFSTOPPED(status), flush=True)
sys.stdin.readline()
status = go_on(signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(status))
"""
ALT_SCREEN, ALT_SCREEN_OFF = b"\x1b[?1049h", b"\x1b[?1049l"
PASTES, PASTES_OFF = b"\x1b[?2004h", b"\x1b[?2004l"


def test_ctrl_z_leads_to_the_shell_and_fg_back_with_all_modes(tmp_path: Path):
    with PtyProcess("-c", SHELL, folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.type("kept\x1a")
        terminal.until("STOPPED True")
        assert terminal.output.rindex(ALT_SCREEN_OFF) > terminal.output.rindex(ALT_SCREEN)
        assert terminal.output.rindex(PASTES_OFF) > terminal.output.rindex(PASTES)
        assert terminal.restored()
        terminal.forget()
        terminal.type("\n")
        terminal.until("kept")
        terminal.until(lambda: ALT_SCREEN in terminal.output and PASTES in terminal.output)
        terminal.until(lambda: not terminal.restored())  # or the keys would be signals
        terminal.type("\x03\x04")  # ctrl+c clears the draft, ctrl+d leaves an empty one
        assert terminal.ended() == 0
        assert terminal.restored()


def test_ctrl_z_does_nothing_where_there_is_no_shell(tmp_path: Path):
    with PtyProcess("-c", CHAT, "chat", folder=tmp_path) as terminal:
        terminal.until("ready")
        terminal.forget()
        terminal.type("\x1a")
        terminal.until(lambda: ALT_SCREEN in terminal.output and not terminal.restored())
        terminal.type("still here")
        terminal.until("still here")
        terminal.type("\x03\x04")
        assert terminal.ended() == 0
