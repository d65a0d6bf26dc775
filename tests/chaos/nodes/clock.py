"""The time of day of one node: not the machine's."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.chaos.campaign.clock import MovedClock


class NodeClock:
    """A node's time, moved by libfaketime where that is installed.

    Elsewhere the node's process moves Python's clocks. Time that only goes by is the machine's.
    """

    def __init__(self, folder: Path) -> None:
        self._ahead = 0.0
        self._moved = MovedClock(folder / "ahead")
        self._stamp = folder / "faketime"
        self.environment: Mapping[str, str] = {"AHEAD": str(folder / "ahead")}
        """Variables of the node's process."""
        if library := _library():
            self.environment |= {
                "LD_PRELOAD": library,
                "FAKETIME_TIMESTAMP_FILE": str(self._stamp),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        self.advance(0.0)

    def advance(self, seconds: float) -> None:
        """Set the clock, forward or back."""
        self._ahead += seconds
        if _library():
            new = self._stamp.with_suffix(".new")
            new.write_text(f"{self._ahead:+f}")
            new.replace(self._stamp)  # whole: it is read at any moment
        else:
            self._moved.advance(seconds)


@cache
def _library() -> str:
    """The path of libfaketime; "" where it is not installed."""
    if (program := shutil.which("faketime")) is None:
        return ""
    command = [program, "-m", "-f", "+0s", "printenv", "LD_PRELOAD"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    library = told.stdout.strip()
    return library if library and Path(library).exists() else ""
