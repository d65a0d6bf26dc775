"""An empty Textual application with the widgets of the chat's first paint."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static, TextArea


class EmptyApp(App[None]):
    """Six containers, ten lines of text, and a text field.

    It does nothing.
    """

    CSS = """
    .line { height: 1; }
    .line Static { width: 1fr; }
    .rest { height: 1fr; }
    .hidden { display: none; }
    TextArea { height: 3; }
    """

    def compose(self) -> ComposeResult:
        """The same widgets as the chat."""
        with Horizontal(classes="line"):
            yield Static("Parley", markup=False)
            yield Static(markup=False)
        with Horizontal(classes="rest"), Vertical():
            with Vertical(classes="rest"):
                yield Static("Welcome", markup=False)
            yield Static(markup=False, classes="hidden")
            with Vertical(classes="hidden"):
                yield Static(markup=False)
                with VerticalScroll(can_focus=False):
                    yield Static(markup=False)
                yield Horizontal()
            yield Static(markup=False, classes="hidden")
            yield Static(markup=False, classes="hidden")
            yield TextArea(placeholder="Message the team", soft_wrap=True, show_line_numbers=False)
        with Horizontal(classes="line"):
            yield Static(markup=False)
            yield Static(markup=False)


if __name__ == "__main__":
    EmptyApp().run()
