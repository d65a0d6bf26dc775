"""Screens over the chat: one of a kind, closed once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, TypeVar

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette
from textual.events import Click
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import OptionList
from textual.worker import Worker

from adapters.terminal.widgets.late_clicks import LateClicks

Result = TypeVar("Result")


class Overlay(ModalScreen[ScreenResultType], LateClicks[ScreenResultType]):
    """A dialog whose second closing does nothing.

    Textual closes whichever screen is on top, and fails where only the chat is left: a key that
    comes twice, or a message that comes late, would end the program.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with the result, if this screen is the one on top."""
        return super().dismiss(result) if self.is_active else AwaitComplete.nothing()


class Options(OptionList):
    """A list that takes keys before its layout, and late clicks."""

    def on_click(self, event: Click) -> None:
        """Pass over a click on a row that was removed meanwhile."""
        _pass_over_late_click(self, event)

    def action_page_up(self) -> None:
        """Go a page up."""
        with suppress(KeyError):
            super().action_page_up()

    def action_page_down(self) -> None:
        """Go a page down."""
        with suppress(KeyError):
            super().action_page_down()


def _pass_over_late_click(rows: OptionList, event: Click) -> None:
    if event.style.meta.get("option", 0) >= rows.option_count:
        event.prevent_default().stop()


class _Commands(CommandList):
    """The palette's list; it, too, takes late clicks."""

    def on_click(self, event: Click) -> None:
        """Pass over a click on a row that a search has removed."""
        _pass_over_late_click(self, event)


class Search(CommandPalette, LateClicks[None]):  # pyright: ignore[reportIncompatibleMethodOverride] (in Textual itself)
    """Textual's palette of commands or themes; it, too, closes once."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close, if this screen is the one on top."""
        return super().dismiss(result) if self.is_active else AwaitComplete.nothing()

    def compose(self) -> ComposeResult:
        """Textual's widgets, with a list that takes late clicks."""
        for widget in super().compose():
            yield _Commands() if isinstance(widget, CommandList) else widget

    def run_worker(self, *work: Any, **options: Any) -> Worker[Any]:
        """Search in the background.

        A search that was closed meanwhile may fail unheard.
        """
        return super().run_worker(*work, **{**options, "exit_on_error": False})

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):  # as above
            super()._action_command_list(action)


def show(over: Screen[Any], overlay: Screen[Any]) -> None:
    """Open an overlay, unless one of its kind is open."""
    if not _is_open(over, overlay):
        over.app.push_screen(overlay)


async def ask(over: Screen[Any], overlay: Overlay[Result]) -> Result | None:
    """Open an overlay; its result, or None if one is open.

    For workers. Nothing is awaited between the look and the opening, or two would open.
    """
    if _is_open(over, overlay):
        return None
    # Shielded: a worker that is cancelled must leave something that can be answered.
    return await asyncio.shield(over.app.push_screen(overlay, wait_for_dismiss=True))


def _is_open(over: Screen[Any], overlay: Screen[Any]) -> bool:
    return any(isinstance(screen, type(overlay)) for screen in over.app.screen_stack)
