"""Clicks on what is still painted, but gone."""

from textual.app import App
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from adapters.terminal.widgets.late_clicks import LateClicks


class Ghosts(Screen[None]):
    """A screen that paints a widget which has no place any more."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        return Static("gone"), Offset(0, 0)


class Patient(LateClicks[None], Ghosts):
    """A screen that takes such clicks."""


async def test_a_click_on_a_widget_that_was_just_removed_does_nothing():
    app = App[None]()
    async with app.run_test() as pilot:
        await app.push_screen(Patient())
        await pilot.mouse_down(offset=(3, 3))
        await pilot.mouse_up(offset=(3, 3))
        assert app.is_running
