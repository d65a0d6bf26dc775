"""The transcript: a window onto the thread's items that stays where the reader left it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from adapters.terminal.items import Item
from adapters.terminal.widgets.entries import Entry, entry_for, show_in
from adapters.terminal.window import Window

Wanted: TypeAlias = Literal["", "earlier", "later", "end"]
NEAR = 2
"""Rows from an edge of what is mounted, from where on more is fetched."""


class Transcript(VerticalScroll, can_focus=False):
    """Shows the slice of the items that `Window` chooses.

    At the end it follows what is new; anywhere else it keeps its place and counts. All changes are
    made by `draw`, which one task calls; scrolling only asks for it with a `Wanting` message.
    """

    class Wanting(Message):
        """Something is to be drawn."""

    class Moved(Message):
        """The reader has left the end, has come back to it, or more has come in meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.unseen = 0
        """How many items have come since the reader left the end."""
        self._following = True
        self._seen = 0
        self._window = Window()
        self._wanted: Wanted = ""
        self._entries: dict[str, Entry] = {}
        self._above = Static(markup=False, classes="above")
        self._total = 0

    @property
    def following(self) -> bool:
        """Whether the end is in view and stays in view."""
        return self._following

    @property
    def mounted(self) -> list[str]:
        """The keys of what is mounted, from top to bottom."""
        return list(self._entries)

    def on_mount(self) -> None:
        """Hold the end from the start."""
        self.mount(self._above)
        self.anchor()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._following, self._wanted = True, "end"
        self.post_message(self.Wanting())

    async def clear(self) -> None:
        """Show another thread from its end."""
        await self.query("*").exclude(".above").remove()
        self._entries.clear()
        self._window, self._following, self._wanted = Window(), True, ""
        self.anchor()

    async def draw(self, items: Sequence[Item]) -> None:
        """Bring what is mounted in line with the items."""
        wanted, self._wanted = self._wanted, ""
        place: Callable[[], None] | None = None
        match wanted:
            case "earlier":
                self._window = self._window.earlier(items)
                place = self._keep_place()
            case "later":
                self.release_anchor()
                self._window = self._window.later(items)
                place = self._keep_place()
            case "end":
                self._window = Window.tail(items)
            case "":
                if self._following:
                    self._window = self._window.following(items)
        await self._reconcile(items[self._window.start : self._window.end])
        self._total = len(items)
        self._tell_above()
        self._count()
        if wanted == "end":
            self.anchor()
        elif place is not None:
            self.call_after_refresh(place)

    def release_anchor(self) -> None:
        """The reader scrolls: the end is no longer followed."""
        super().release_anchor()
        if self._following and self.is_mounted:
            self._following, self._seen = False, self._total
            self._count()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Fetch more near an edge, and follow again at the very end."""
        super().watch_scroll_y(old_value, new_value)
        if self._following or not self._entries:
            return
        at_end = new_value >= self.max_scroll_y
        if new_value <= NEAR and self._window.start:
            self._want("earlier")
        elif new_value >= self.max_scroll_y - NEAR and self._window.end < self._total:
            self._want("later")
        elif at_end and new_value > old_value:
            self._following = True
            self.anchor()
            self._count()

    def _want(self, what: Wanted) -> None:
        if not self._wanted:
            self._wanted = what
            self.post_message(self.Wanting())

    def _count(self) -> None:
        self.unseen = 0 if self._following else self._total - self._seen
        self.post_message(self.Moved())

    def _tell_above(self) -> None:
        count = self._window.start
        self._above.display = count > 0
        if count:
            self._above.update(Content(f"↑ {count} earlier"))

    async def _reconcile(self, items: Sequence[Item]) -> None:
        wanted = {item.key: item for item in items}
        gone = [key for key in self._entries if key not in wanted]
        if gone:
            await self.remove_children([self._entries.pop(key) for key in gone])
        await self._mount_missing(wanted)
        for key, item in wanted.items():
            entry = self._entries[key]
            if entry.item is not item:
                await show_in(entry, item)

    async def _mount_missing(self, wanted: dict[str, Item]) -> None:
        """Mount what is new where it belongs; what is out of order moves."""
        ordered: dict[str, Entry] = {}
        left = list(self._entries)
        run: list[Entry] = []
        for key, item in wanted.items():
            entry = self._entries.get(key)
            if entry is None:
                run.append(entry := entry_for(item))
            else:
                if run:
                    await self._mount_run(run, before=entry)
                    run = []
                if left[0] != key:
                    self.move_child(entry, before=self._entries[left[0]])
                left.remove(key)
            ordered[key] = entry
        if run:
            await self._mount_run(run, before=None)
        self._entries = ordered

    async def _mount_run(self, run: list[Entry], *, before: Entry | None) -> None:
        await self.mount_all(run, before=before)
        for entry in run:
            await show_in(entry, entry.item)

    def _keep_place(self) -> Callable[[], None]:
        """Remember what stands at the top of the view, for when the layout is new."""
        top = self.scroll_y
        shown = [entry for entry in self._entries.values() if entry.virtual_region.bottom > top]
        if not shown:
            return lambda: None
        entry, offset = shown[0], shown[0].virtual_region.y - top

        def place() -> None:
            if entry.is_mounted:
                self.scroll_to(y=entry.virtual_region.y - offset, animate=False, immediate=True)

        return place
