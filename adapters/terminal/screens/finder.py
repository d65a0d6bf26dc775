"""Find in the transcript: words become a highlighted place in view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Static

from adapters.terminal.find import ThreadSearch, place_in
from adapters.terminal.widgets.columns import READABLE
from adapters.terminal.widgets.entries import Card

if TYPE_CHECKING:
    from textual.screen import Screen

    from adapters.terminal.screens.thread_view import ThreadView
    from adapters.terminal.widgets.entries import Entry
    from adapters.terminal.widgets.search_bar import FindBar
    from gateway.items import Item

ABOVE = 3
"""Lines that stay in sight above what was found."""


def row_of(content: Content, start: int, width: int) -> int:
    """The row of a character in a wrapped text."""
    return len(content[:start].wrap(max(1, width))) - 1 if start else 0


class Finder:
    """Searches a thread, and shows one place.

    The place is selected as if with the mouse: so what grows is drawn as usual, and ctrl+c copies.
    """

    def __init__(self, screen: Screen[None], bar: FindBar, view: ThreadView) -> None:
        self._screen = screen
        self._bar = bar
        self._view = view
        self._search = ThreadSearch("")
        self._top = ""
        """The item where each search begins."""
        self._pending = False
        """True until the place is shown."""
        self._shown: Item | None = None
        """The item as it was when its place was marked."""

    def open(self, words: str = "") -> None:
        """Ask for words, or find these."""
        self._top = next(iter(self._view.in_view), "")
        self._bar.open(words)
        self.look_for(self._bar.words)

    def close(self) -> None:
        """Leave the transcript where it is."""
        self._bar.close()
        self._search, self._pending = ThreadSearch(""), False
        self._screen.clear_selection()

    def look_for(self, words: str) -> None:
        """Go to the first place from the reader's place on."""
        if words != self._search.words:
            self._search = ThreadSearch(words)
            self._search.read(self._view.items)
            self._search.begin(self._top, self._view.items)
            self._go()

    def step(self, step: int) -> None:
        """Go to the next place, or to the one before."""
        self._search.read(self._view.items)
        if self._search.walk.count:
            self._search.walk.step(step)
            self._top = self._search.found.key if self._search.found else ""
            self._go()

    def drawn(self) -> None:
        """The thread was drawn, perhaps with more in it."""
        if self._bar.display:
            self._search.read(self._view.items)
            self._tell()
            if self._pending:
                self._screen.call_after_refresh(self._open_entry)
            elif self._entry is not None and self._entry.item is not self._shown:
                self._screen.call_after_refresh(self._show, scroll=False)

    def _go(self) -> None:
        self._tell()
        found = self._search.found
        self._pending = found is not None
        if found is None:
            self._screen.clear_selection()
        elif self._view.transcript is not None:
            self._view.transcript.bring(found.key)

    @property
    def _entry(self) -> Entry | None:
        """The widget of the item with the place, if it is mounted."""
        found, transcript = self._search.found, self._view.transcript
        return transcript.entry(found.key) if found and transcript else None

    def _tell(self) -> None:
        self._bar.tell(f"{self._search.walk}" if self._search.words else "")

    def _open_entry(self) -> None:
        """Unfold what was found; its place is known after the layout."""
        found, entry = self._search.found, self._entry
        if found is None or entry is None:
            return
        self._pending = False
        if isinstance(entry, Card):
            entry.reveal(place_in(entry.item, self._search.pattern, found.below))
        self._screen.call_after_refresh(self._show, scroll=True)

    def _show(self, *, scroll: bool) -> None:
        """Mark the place, and scroll it into view."""
        found, entry, transcript = self._search.found, self._entry, self._view.transcript
        if found is None or transcript is None or entry is None:
            return
        self._shown = entry.item
        place = self._place(entry, found.below)
        if place is None:  # only its Markdown has the words
            self._screen.clear_selection()
            if scroll:
                transcript.bring_row(entry.region.y, ABOVE)
            return
        widget, content, start, end = place
        line, column = _coordinates(content.plain, start)
        first, last = Offset(column, line), Offset(column + end - start, line)
        self._screen.selections = {widget: Selection(first, last)}
        if scroll:
            width = min(widget.content_region.width, READABLE)
            transcript.bring_row(widget.content_region.y + row_of(content, start, width), ABOVE)

    def _place(self, entry: Entry, below: int) -> tuple[Static, Content, int, int] | None:
        """The place on screen.

        Counted from the end: names and states stand before an item's text.
        """
        places: list[tuple[Static, Content, int, int]] = []
        hint = entry.hint if isinstance(entry, Card) else ""
        for widget in entry.walk_children(Static, with_self=True):
            if isinstance(content := widget.visual, Content) and widget.display:
                text = content.plain.removesuffix(hint)
                spans = (found.span() for found in self._search.pattern.finditer(text))
                places += [(widget, content, start, end) for start, end in spans]
        if isinstance(entry, Card):
            below -= len(self._search.pattern.findall(entry.not_shown))
        return places[max(0, len(places) - 1 - below)] if places else None


def _coordinates(text: str, at: int) -> tuple[int, int]:
    """Line and column of a character."""
    return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)
