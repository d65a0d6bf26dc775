"""Searches of a chat: in its transcript, and in earlier prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical

from adapters.terminal.screens.finder import Finder
from adapters.terminal.screens.prompt_search import PromptSearch
from adapters.terminal.widgets.search_bar import FindBar, PromptBar, SearchBar

if TYPE_CHECKING:
    from textual.screen import Screen

    from adapters.terminal.history import History
    from adapters.terminal.screens.thread_view import ThreadView
    from adapters.terminal.widgets.composer import Composer


class Searches:
    """Both bars above the composer, of which one is open at most."""

    def __init__(
        self, screen: Screen[None], view: ThreadView, composer: Composer, history: History
    ) -> None:
        self._composer = composer
        self._bars = FindBar(), PromptBar()
        self._finder = Finder(screen, self._bars[0], view)
        self._prompts = PromptSearch(self._bars[1], composer, history)

    async def mount(self) -> None:
        """Make room for the bars."""
        if isinstance(thread := self._composer.parent, Vertical):
            await thread.mount(*self._bars, before=self._composer)

    def find(self, words: str) -> None:
        """Find these words in the transcript; without any, ask for them."""
        self._bars[1].close()
        self._finder.open(words)

    def find_prompt(self) -> None:
        """Look for an earlier prompt by its words; then, an older one."""
        if self._bars[1].has_focus_within:
            self._prompts.step(1)
            return
        if self._bars[0].display:
            self._finder.close()
        self._prompts.open()

    def take_prompt(self) -> None:
        """Make the prompt that was found the draft."""
        self._prompts.take()
        self.close()

    def close(self) -> bool:
        """Close the bar and go on writing; False if none is open."""
        if not any(bar.display for bar in self._bars):
            return False
        if self._bars[0].display:
            self._finder.close()
        self._bars[1].close()
        self._composer.focus()
        return True

    def look_for(self, bar: SearchBar, words: str) -> None:
        """Search for what was typed in a bar."""
        (self._prompts if bar is self._bars[1] else self._finder).look_for(words)

    def step(self, bar: SearchBar, step: int) -> None:
        """Go on in what was found, or back."""
        (self._prompts if bar is self._bars[1] else self._finder).step(step)

    def drawn(self) -> None:
        """The thread was drawn, perhaps with more in it."""
        self._finder.drawn()
