"""The system's clipboard, for terminals without their own (OSC 52)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress

DEADLINE = 2.0


def copy(text: str) -> None:
    """Copy through the desktop's clipboard program, if any.

    Blocks; raises nothing.
    """
    for command in _programs():
        if shutil.which(command[0]):
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(
                    command,
                    input=text.encode(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=DEADLINE,
                    check=True,
                )
                return


def _programs() -> list[list[str]]:
    if sys.platform == "darwin":
        return [["pbcopy"]]
    programs: list[list[str]] = []
    if os.environ.get("WAYLAND_DISPLAY"):
        programs.append(["wl-copy"])
    if os.environ.get("DISPLAY"):
        programs.append(["xclip", "-selection", "clipboard"])
    return programs
