"""Screens whose widgets may go while they are clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen, ScreenResultType

if TYPE_CHECKING:
    from textual.geometry import Offset
    from textual.widget import Widget


class LateClicks(Screen[ScreenResultType]):
    """Passes over clicks on widgets that are painted, but gone.

    Textual would fail to select text in them.
    """

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """The widget there; none where it was just removed."""
        widget, offset = super().get_widget_and_offset_at(x, y)
        removed = widget is not None and widget is not self and widget.parent is None
        return (None, None) if removed else (widget, offset)
