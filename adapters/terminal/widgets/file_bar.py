"""The files of the next message, above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

HINT = "backspace in an empty draft or /detach takes the last off"
MUTED = "$muted"


class FileBar(Static):
    """Names files, who will get them, and what is wrong with them."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(
        self, files: str, *, to: str = "", faults: Sequence[str] = (), asked: str = ""
    ) -> None:
        """Draw the line; without files, hide. `asked`: Enter sends."""
        where = f" to {to}" if to else ""
        lines = [Content.assemble((f"files{where}: ", MUTED), files)] if files else []
        lines += [Content.styled(fault, "$warning") for fault in faults]
        if asked:
            lines.append(Content.styled(f"Enter again sends: {asked}", "bold $warning"))
        elif files:
            lines.append(Content.styled(HINT, MUTED))
        self.display = bool(lines)
        self.update(Content("\n").join(lines))
