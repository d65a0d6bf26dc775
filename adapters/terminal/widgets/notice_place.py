"""The transcript's place, which holds the chat's notices, too."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.notifications import Notifications
from textual.widgets._toast import ToastHolder, ToastRack

ROWS_OF_A_NOTICE = 5
"""Rows of a notice, from which follows how many there is room for."""

NARROW = 60
"""Columns below which half of them are too few for a notice."""


class Notices(ToastRack):
    """Textual's notices, whose rows go with them."""

    def show(self, notifications: Notifications) -> None:
        """Show these; Textual leaves the empty rows of dropped ones."""
        kept = {self._toast_id(each) for each in notifications}
        for row in self.query_children(ToastHolder):
            if row.id not in kept:
                row.remove()
        super().show(notifications)


class NoticePlace(Vertical):
    """Keeps notices within the transcript.

    Its edges cut them: neither a request nor the draft below is ever covered.
    """

    def __init__(self) -> None:
        super().__init__(id="place")
        self.rack = Notices()

    @property
    def most(self) -> int:
        """The number of notices that there is room for."""
        return max(1, self.size.height // ROWS_OF_A_NOTICE)

    def compose(self) -> ComposeResult:
        """The notices, over what is said."""
        yield self.rack

    def on_resize(self) -> None:
        """Use all of the width where there is little room."""
        width, height = self.size
        self.set_class(height <= 2 * ROWS_OF_A_NOTICE or width < NARROW, "-tight")
