"""Reverse search: an earlier prompt by some of its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.terminal.find import NOTHING, Walk
from gateway.render.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from adapters.terminal.history import History
    from adapters.terminal.widgets.composer import Composer
    from adapters.terminal.widgets.search_bar import PromptBar


class PromptSearch:
    """Shows one prompt at a time; taken, it becomes the draft."""

    def __init__(self, bar: PromptBar, composer: Composer, history: History) -> None:
        self._bar = bar
        self._composer = composer
        self._history = history
        self._found: list[str] = []
        self._walk = Walk()

    def open(self) -> None:
        """Ask for words; without any, the newest prompt is shown."""
        self._bar.open()
        self.look_for(self._bar.words)

    def look_for(self, words: str) -> None:
        """Show the newest prompt with these words."""
        self._found = self._history.matching(words)
        self._walk = Walk(len(self._found))
        self._walk.step(1)
        self._tell()

    def step(self, step: int) -> None:
        """Show an older prompt, or a newer one, up to the last."""
        self._walk.at = max(0, min(self._walk.at + step, self._walk.count - 1))
        self._tell()

    def take(self) -> None:
        """Make the prompt the draft; up restores the draft that was there."""
        if not self._found:
            return
        prompt = self._found[self._walk.at]
        if self._composer.purpose is not None:  # an answer is begun
            self._composer.insert(prompt)
        else:
            self._composer.put_aside()
            self._composer.set_draft(prompt)

    def _tell(self) -> None:
        prompt = one_line(sanitize(self._found[self._walk.at])) if self._found else ""
        self._bar.tell(f"{self._walk}   {prompt}" if prompt else NOTHING)
