"""Bars for words to find."""

from __future__ import annotations

from textual.app import App, ComposeResult

from adapters.terminal.widgets.search_bar import FindBar, SearchBar


class Bench(App[None]):
    """A bar, and what it tells."""

    def __init__(self) -> None:
        super().__init__()
        self.bar = FindBar()
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.bar

    def on_search_bar_typed(self, event: SearchBar.Typed) -> None:
        self.told.append(f"typed {event.words}")

    def on_search_bar_stepped(self, event: SearchBar.Stepped) -> None:
        self.told.append(f"step {event.step}")

    def on_search_bar_scroll(self, event: SearchBar.Scroll) -> None:
        self.told.append(f"scroll {event.pages}")


async def test_words_are_typed_walked_and_taken_anew() -> None:
    app = Bench()
    async with app.run_test() as pilot:
        assert not app.bar.display
        app.bar.open()
        await pilot.press("a", "b")
        assert app.bar.words == "ab"
        await pilot.press("up", "pagedown", "enter", "n", "N")
        assert app.told == [
            "typed a",
            "typed ab",
            "step -1",
            "scroll 1",
            "step 1",
            "step 1",
            "step -1",
        ]
        assert app.bar.has_focus
        await pilot.press("slash")
        assert not app.bar.has_focus
        app.bar.open("other")
        assert app.bar.words == "other"
        app.bar.tell("nothing found")
        assert "nothing found" in "".join(str(each.render()) for each in app.bar.query(".told"))
        app.bar.close()
        assert (app.bar.display, app.bar.words) == (False, "other")
