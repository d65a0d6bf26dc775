"""The palette: slash commands with their descriptions, above a draft that begins with one."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from adapters.terminal.commands import Command, Commands

ROWS = 7


class Palette(Static):
    """Shows what the draft may become. It never takes the focus: the composer moves its choice."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False
        self.commands = Commands()
        self._matches: list[Command] = []
        self._at = 0
        self._closed_for = ""

    @property
    def choice(self) -> str:
        """The marked command with its slash, or ""."""
        return f"/{self._matches[self._at].name}" if self._matches else ""

    def suggest(self, draft: str) -> None:
        """Show what matches the draft; where nothing does, hide."""
        if draft != self._closed_for:
            self._closed_for = ""
        matches = [] if self._closed_for else self.commands.matching(draft)
        if matches != self._matches:
            self._matches, self._at = matches, 0
            self._draw()
        self.display = bool(matches)

    def close(self, draft: str) -> None:
        """Hide until the draft is another one."""
        self._closed_for = draft
        self.suggest(draft)

    def move(self, step: int) -> None:
        """Mark the command so many rows further, around the ends."""
        self._at = (self._at + step) % len(self._matches)
        self._draw()

    def _draw(self) -> None:
        first = max(0, min(self._at - ROWS // 2, len(self._matches) - ROWS))
        lines = [
            self._line(index, command)
            for index, command in enumerate(self._matches)
            if first <= index < first + ROWS
        ]
        self.update(Content("\n").join(lines))

    def _line(self, index: int, command: Command) -> Content:
        name = f"/{command.name} {command.argument}".strip()
        here = index == self._at
        keys = f"  {command.keys}" if command.keys else ""
        return Content.assemble(
            ("▸ " if here else "  ", "$primary"),
            (f"{name:<18}", "bold $primary" if here else "bold"),
            (command.description, "" if here else "$muted"),
            (keys, "$muted"),
        )
