"""The theme chosen in the palette, kept over restarts."""

import os
from contextlib import suppress
from pathlib import Path


class ChosenTheme:
    """A small private file beside the drafts; the config is never written.

    The choice holds until the config names another theme than it did then.
    """

    def __init__(self, path: Path, configured: str) -> None:
        self._path = path
        self._configured = configured

    def read(self) -> str:
        """The chosen theme; "" without one that still holds."""
        with suppress(OSError):
            chosen, _, configured = self._path.read_text("utf-8", "replace").partition("\n")
            return chosen if configured.rstrip("\n") == self._configured else ""
        return ""

    def keep(self, theme: str) -> None:
        """Keep a choice; where that can't be written, for this run alone."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = self._path.with_suffix(".new")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with open(os.open(new, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(f"{theme}\n{self._configured}\n")
            new.replace(self._path)
