"""The width of a column of text that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from textual.css.styles import RulesMap
    from textual.strip import Strip
    from textual.style import Style
    from textual.visual import RenderOptions

READABLE = 100
"""Cells of a line of text; longer ones are hard to read. The same in `styles/parley.tcss`."""


class Column(Content):
    """A text in lines of a readable length."""

    @classmethod
    def of(cls, content: Content) -> Column:
        """The same text as a column."""
        return cls(content.plain, list(content.spans))

    def get_height(self, rules: RulesMap, width: int) -> int:
        """The number of lines."""
        return super().get_height(rules, min(width, READABLE))

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """The lines."""
        return super().render_strips(min(width, READABLE), height, style, options)
