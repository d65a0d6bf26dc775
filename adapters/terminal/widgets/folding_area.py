"""A text field that folds a long paste to one line."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.widgets import TextArea

from adapters.terminal.folds import Folds, is_long, usual_spaces, without_labels

LABEL_STYLE = "bold italic"


class FoldingArea(TextArea):
    """Folds what is pasted, if it is long.

    The label is a part of the text, so that undo and selection work as ever. The cursor never
    stands within it, and whoever deletes a part of it deletes all of it.
    """

    def __init__(self) -> None:
        self._folds = Folds()
        super().__init__(
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
        )

    @property
    def whole(self) -> str:
        """The text, with each paste in its place."""
        return self._folds.whole(self.text)

    def unfold(self, at: Location | None = None) -> bool:
        """Open the paste at the cursor or a place; False without one."""
        row, column = at or self.cursor_location
        line = self.document.get_line(row)
        for start, end in self._folds.spans(line):
            if start <= column <= end:
                text = self._folds.text(line[start:end])
                self.history.checkpoint()
                result = self.replace(text, (row, start), (row, end))
                self.move_cursor(result.end_location)
                self.history.checkpoint()
                return True
        return False

    async def _on_paste(self, event: events.Paste) -> None:
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        pasted = self._folds.fold(text) if is_long(text) else without_labels(text)
        event.prevent_default()
        if result := self._replace_via_keyboard(pasted, *self.selection):
            self.move_cursor(result.end_location)
            self.focus()
            self.pasted(pasted)

    def pasted(self, text: str) -> None:
        """Hear of a text that was pasted."""

    def on_click(self, event: events.Click) -> None:
        """Open the paste that was clicked."""
        row, column = self.get_target_document_location(event)
        if self._span_within((row, column)):
            self.unfold((row, column))

    def edit(self, edit: Edit) -> EditResult:
        """Edit the text; of a label, all or nothing."""
        top, bottom = sorted((edit.from_location, edit.to_location))
        if top == bottom:
            top = bottom = self._beside(top, top)
        else:
            if span := self._span_within(top):
                top = (top[0], span[0])
            if span := self._span_within(bottom):
                bottom = (bottom[0], span[1])
        edit.from_location, edit.to_location = top, bottom
        return super().edit(edit)

    def get_line(self, line_index: int) -> Text:
        """The line, with its labels marked as such."""
        line = super().get_line(line_index)
        for start, end in self._folds.spans(plain := line.plain):
            line.plain = line.plain[:start] + usual_spaces(plain[start:end]) + line.plain[end:]
            line.stylize(LABEL_STYLE, start, end)
        return line

    def _validate_selection(self, selection: Selection) -> Selection:
        start, end = super()._validate_selection(selection)
        before = self.selection
        return Selection(self._beside(start, before.start), self._beside(end, before.end))

    def _beside(self, place: Location, before: Location) -> Location:
        """The place, or an edge of the label around it.

        A cursor at one edge goes to the other.
        """
        span = self._span_within(place)
        if span is None:
            return place
        row, (left, right) = place[0], span
        if before == (row, left):
            return (row, right)
        if before == (row, right):
            return (row, left)
        return (row, left if place[1] - left < right - place[1] else right)

    def _span_within(self, place: Location) -> tuple[int, int] | None:
        """The label around a place, not beside it."""
        row, column = place
        if row >= self.document.line_count:
            return None
        spans = self._folds.spans(self.document.get_line(row))
        return next(((start, end) for start, end in spans if start < column < end), None)
