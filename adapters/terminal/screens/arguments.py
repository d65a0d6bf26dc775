"""All arguments of a tool call, full-screen and with a search."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from adapters.terminal.find import NOTHING, Walk, pattern_of
from adapters.terminal.screens.finder import ABOVE, row_of
from adapters.terminal.widgets.arguments import IN_LINE, ArgumentText, heading, text_chunks
from adapters.terminal.widgets.overlay import Overlay

if TYPE_CHECKING:
    from gateway.items import RequestItem

MOST_FOUND = 10_000
KEYS = "esc back   / search   n next   N previous   up, down, pgup, pgdn scroll"


@dataclass(frozen=True)
class _Place:
    """A place of a found text: its widget and the characters there."""

    chunk: int
    start: int
    end: int


class ArgumentsScreen(Overlay[None]):
    """Everything that a call was given: to read, not to decide."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "back", "Back"),
        ("q", "back", "Back"),
        ("enter", "back", "Back"),
        ("slash", "search", "Search"),
        ("n", "next(1)", "Next"),
        ("N", "next(-1)", "Previous"),
        ("up", "scroll(-1, False)", "Up"),
        ("down", "scroll(1, False)", "Down"),
        ("pageup", "scroll(-1, True)", "A page up"),
        ("pagedown,space", "scroll(1, True)", "A page down"),
        ("home", "home", "Begin"),
        ("end", "end", "End"),
    ]

    def __init__(self, item: RequestItem) -> None:
        super().__init__()
        self._item = item
        self._scroll = VerticalScroll(can_focus=False)
        self._search = Input(placeholder="Search", compact=True)
        self._search.display = False
        self._keys = Static(Content.styled(KEYS, "$muted"), markup=False)
        self._chunks: list[tuple[Static, Content]] = []
        self._found: list[_Place] = []
        self._walk = Walk()

    @property
    def request(self) -> str:
        """The request that they are arguments of."""
        return self._item.request

    @property
    def subject(self) -> str:
        """The request in a few words."""
        return f"{self._item.agent.name} asks to run {self._item.tool}"

    def compose(self) -> ComposeResult:
        """The frame; the arguments follow."""
        with Vertical(classes="frame") as frame:
            frame.border_title = Content(self.subject)
            yield self._scroll
            yield self._search
            yield self._keys

    async def on_mount(self) -> None:
        """Show all of them; a worker makes the colours."""
        for argument in (*self._item.arguments, *self._item.replaced):
            self._add(name := heading(argument), name.content)
            if argument.kind not in IN_LINE:
                for chunk in await asyncio.to_thread(text_chunks, argument):
                    self._add(ArgumentText(chunk), chunk)
        await self._scroll.mount_all([widget for widget, _ in self._chunks])

    def _add(self, widget: Static, content: object) -> None:
        self._chunks.append((widget, content if isinstance(content, Content) else Content("")))

    def action_back(self) -> None:
        """End the search, or close."""
        if self._search.display:
            self._end_search()
        else:
            self.dismiss()

    def action_search(self) -> None:
        """Ask what to look for."""
        self._search.display = True
        self._search.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Find all places, and show the first below the top line."""
        event.stop()
        self._end_search()
        self._found = list(self._places(event.value))[:MOST_FOUND] if event.value else []
        self._walk = Walk(len(self._found))
        self.action_next(1)

    def _end_search(self) -> None:
        self._search.display = False
        self.set_focus(None)

    def _places(self, words: str) -> list[_Place]:
        pattern = pattern_of(words)
        return [
            _Place(number, found.start(), found.end())
            for number, (_, content) in enumerate(self._chunks)
            for found in pattern.finditer(content.plain)
        ]

    def action_next(self, step: int) -> None:
        """Go to the next place, or to the one before."""
        if not self._found:
            self._tell(NOTHING if self._search.value else KEYS)
            return
        if self._walk.at >= 0:
            widget, content = self._chunks[self._found[self._walk.at].chunk]
            widget.update(content)
        self._walk.step(step)
        place = self._found[self._walk.at]
        widget, content = self._chunks[place.chunk]
        widget.update(content.stylize("black on yellow", place.start, place.end))
        above = row_of(content, place.start, widget.content_region.width)
        row = widget.virtual_region.y + above
        self._scroll.scroll_to(y=max(0, row - ABOVE), animate=False)
        self._tell(f"{self._walk}   n next   N previous   esc back")

    def _tell(self, text: str) -> None:
        self._keys.update(Content.styled(text, "$muted"))

    def action_scroll(self, step: int, pages: bool) -> None:
        """Scroll by lines or pages."""
        height = self._scroll.size.height if pages else 1
        self._scroll.scroll_relative(y=step * height, animate=False)

    def action_home(self) -> None:
        """Go to the first line."""
        self._scroll.scroll_home(animate=False)

    def action_end(self) -> None:
        """Go to the last line."""
        self._scroll.scroll_end(animate=False)
