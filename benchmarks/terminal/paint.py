"""First paint: `parley chat` against an empty Textual application, in turn."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.terminal.screen import ROOT, Screen

COMPOSER = "essage the team"  # its first letter lies under the cursor, and so has another style
READY = "ready"
CHAT = ("-m", "gateway.cli", "chat")
EMPTY_APP = str(ROOT / "benchmarks/terminal/empty_app.py")


@dataclass(slots=True)
class Paints:
    """Seconds and CPU seconds until the composer is visible, by run."""

    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])

    def add(self, folder: Path, *arguments: str) -> None:
        """Start the program once more."""
        with Screen(*arguments, folder=folder) as screen:
            self.wall.append(screen.until_shown(COMPOSER) - screen.started)
            self.cpu.append(screen.cpu())


def first_paints(runs: int) -> tuple[Paints, Paints]:
    """Ours and the empty application's."""
    ours, empty = Paints(), Paints()
    with tempfile.TemporaryDirectory() as place:
        Paints().add(Path(place), *CHAT)  # warms the file cache
        for _ in range(runs):
            ours.add(Path(place), *CHAT)
            empty.add(Path(place), EMPTY_APP)
    return ours, empty


def idle(seconds: float) -> tuple[float, int]:
    """An idle `parley chat`: its share of one CPU, its resident bytes."""
    with (
        tempfile.TemporaryDirectory() as place,
        Screen(*CHAT, folder=Path(place)) as screen,
    ):
        screen.until_shown(READY)
        screen.rest(2.0)
        before = screen.cpu()
        screen.rest(seconds)
        return (screen.cpu() - before) / seconds, screen.resident()
