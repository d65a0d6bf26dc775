"""The transcript: a scrolling window onto the thread's items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from adapters.terminal.widgets.entries import Entry, entry_for, show_item
from adapters.terminal.window import Window
from gateway.items import Item

if TYPE_CHECKING:
    from textual.layout import DockArrangeResult, Layout

Wanted: TypeAlias = Literal["", "earlier", "later", "end"]
NEAR = 2
"""Rows from an edge of what is mounted, from where on more is fetched."""


class Transcript(VerticalScroll, can_focus=False):
    """Shows the slice of the items that `Window` chooses.

    At the end it follows what is new; anywhere else it keeps its place and counts. All changes are
    made by `draw`, which one task calls; scrolling only asks for it with a `DrawRequested` message.
    """

    class DrawRequested(Message):
        """Something is to be drawn."""

    class Moved(Message):
        """The reader left the end or came back, or items arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.unseen = 0
        """Number of items since the reader left the end."""
        self._following = True
        self._seen = 0
        self._window = Window()
        self._wanted: Wanted = ""
        self._brought = ""
        """The item to show, wherever it is."""
        self._entries: dict[str, Entry] = {}
        self._above = Static(markup=False, classes="above")
        self._total = 0
        self._place: tuple[Entry, float] | None = None

    @property
    def following(self) -> bool:
        """True while the view stays at the end."""
        return self._following

    @property
    def mounted(self) -> list[str]:
        """The keys of what is mounted, from top to bottom."""
        return list(self._entries)

    @property
    def in_view(self) -> list[str]:
        """The keys of what is in view, from top to bottom."""
        top, bottom = self.scroll_y, self.scroll_y + self.size.height
        regions = ((key, entry.virtual_region) for key, entry in self._entries.items())
        return [key for key, region in regions if region.bottom > top and region.y < bottom]

    def entry(self, key: str) -> Entry | None:
        """The widget of an item, if it is mounted."""
        return self._entries.get(key)

    def on_mount(self) -> None:
        """Hold the end from the start."""
        self.mount(self._above)
        self.anchor()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._following, self._wanted = True, "end"
        self.post_message(self.DrawRequested())

    def bring(self, key: str) -> None:
        """Mount an item, if it is not there."""
        self._brought = key
        self.post_message(self.DrawRequested())

    def bring_row(self, y: int, above: int) -> None:
        """Scroll a row of the screen into view, below some others."""
        row = y - self.content_region.y
        if not 0 <= row < self.size.height:
            self.release_anchor()
            self.scroll_to(y=max(0, self.scroll_y + row - above), animate=False)

    async def clear(self) -> None:
        """Show another thread from its end."""
        await self.query("*").exclude(".above").remove()
        self._entries.clear()
        self._window, self._following, self._wanted = Window(), True, ""
        self.anchor()

    async def draw(self, items: Sequence[Item]) -> None:
        """Bring what is mounted in line with the items."""
        wanted, self._wanted = self._wanted, ""
        match wanted:
            case "earlier":
                self._window = self._window.earlier(items)
                self._keep_place()
            case "later":
                self.release_anchor()
                self._window = self._window.later(items)
                self._keep_place()
            case "end":
                self._window = Window.tail(items)
            case "":
                if self._following:
                    self._window = self._window.following(items)
        self._move_to_brought(items)
        await self._reconcile(items[self._window.start : self._window.end])
        self._total = len(items)
        self._draw_above()
        self._count()
        if wanted == "end":
            self.anchor()
        elif self._place is not None:
            self.call_after_refresh(self._placed)

    def _move_to_brought(self, items: Sequence[Item]) -> None:
        brought, self._brought = self._brought, ""
        place = (index for index, item in enumerate(items) if item.key == brought)
        index = next(place, None) if brought and brought not in self._entries else None
        if index is not None:
            self.release_anchor()
            self._place = None
            self._window = Window.around(items, index)

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
            self.post_message(self.DrawRequested())

    def _count(self) -> None:
        self.unseen = 0 if self._following else self._total - self._seen
        self.post_message(self.Moved())

    def _draw_above(self) -> None:
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
                await show_item(entry, item)

    async def _mount_missing(self, wanted: dict[str, Item]) -> None:
        """Mount new items in place, and move misplaced ones."""
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
            await show_item(entry, entry.item)

    def pre_layout(self, layout: Layout) -> None:
        """Report all changed entries, so that the layout measures them again.

        Textual leaves out those in which something inside has changed, and a message that came
        together with something else would be cut to the height it had before.
        """
        changed = self.screen._layout_widgets  # pyright: ignore[reportPrivateUsage]
        if self in changed:
            changed[self].update(entry for entry in self._entries.values() if entry in changed)

    # The place of a reader while more is mounted above. Textual's own anchor, which holds the end,
    # sets the scroll position in the same moment of a layout; later, the eye would see a jump.

    def _keep_place(self) -> None:
        """Remember the entry at the top for the next layout."""
        top = self.scroll_y
        visible = [entry for entry in self._entries.values() if entry.virtual_region.bottom > top]
        self._place = (visible[0], visible[0].virtual_region.y - top) if visible else None

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Lay out the entries; the one at the top stays."""
        result = super().arrange(size, optimal)
        if (y := self._place_in(result)) is not None:
            self.set_reactive(Widget.scroll_y, y)
            self.scroll_target_y = y
        return result

    def _place_in(self, result: DockArrangeResult) -> float | None:
        if self._place is None:
            return None
        entry, offset = self._place
        rows = (each.region.y for each in result.placements if each.widget is entry)
        row = next(rows, None)
        return None if row is None else max(0.0, row - offset)

    def _placed(self) -> None:
        """The layout is new: let the scroll bar know."""
        self._place = None
        self.scroll_to(y=self.scroll_y, animate=False, immediate=True)
