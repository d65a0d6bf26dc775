"""Widgets outlive their mistakes: Textual would end with the first one."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from textual.message import Message

DRAWING = frozenset(
    (
        "_compose",
        "get_content_height",
        "get_content_width",
        "render",
        "render_line",
        "render_lines",
    )
)
"""Methods of a widget in which it is composed, laid out and drawn."""


def outlive_errors(widget: Widget, failed: Callable[[Exception], None]) -> None:
    """Let a widget go on after a failed message.

    Textual has no public hook for this: it stops the widget's loop, and then the program.
    """
    dispatch = widget._dispatch_message  # pyright: ignore[reportPrivateUsage]

    async def dispatch_or_tell(message: Message) -> None:
        try:
            await dispatch(message)
        except Exception as error:
            failed(error)

    widget._dispatch_message = dispatch_or_tell  # pyright: ignore[reportPrivateUsage]


def broken_widget(error: Exception) -> Widget | None:
    """The innermost widget that was being drawn when this was raised."""
    broken: Widget | None = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        owner = frame.f_locals.get("self") if frame.f_code.co_name in DRAWING else None
        if isinstance(owner, Widget):
            broken = owner
    return broken
