"""The palette above a draft: slash commands, and agents after @."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from adapters.terminal.commands import Value
from adapters.terminal.widgets.palette import Palette, Suggestion


class Bench(App[None]):
    """A palette, and what it tells."""

    def __init__(self) -> None:
        super().__init__()
        self.palette = Palette()
        self.clicked: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.palette

    def on_palette_clicked(self, event: Palette.Clicked) -> None:
        self.clicked.append(event.offer.draft)


@pytest.mark.parametrize(
    ("offer", "draft", "is_in"),
    [
        (Suggestion("/stop", "/stop", ""), "/stop ", True),
        (Suggestion("/open ", "/open", "", goes_on=True), "/open", False),
        (Suggestion("/stop", "/stop", ""), "/st", False),
    ],
)
def test_a_draft_may_be_the_suggestion_already(offer: Suggestion, draft: str, is_in: bool) -> None:
    assert offer.is_in(draft) is is_in


async def test_offers_are_shown_marked_and_closed() -> None:
    app = Bench()
    async with app.run_test():
        palette = app.palette
        palette.agents = {"writer": "small", "reader": "large"}
        assert palette.choice is None
        palette.suggest("@")
        assert palette.display
        assert palette.choice is not None
        assert palette.choice.draft == "@writer "
        palette.move(1)
        assert palette.choice.draft == "@reader "
        palette.on_mouse_scroll_down()
        assert palette.choice.draft == "@writer "
        palette.on_mouse_scroll_up()
        assert palette.choice.draft == "@reader "
        palette.close("@")
        assert not palette.display
        palette.suggest("/only w")
        assert palette.choice is not None
        assert palette.choice.draft == "/only writer"


async def test_an_offer_is_clicked() -> None:
    app = Bench()
    async with app.run_test() as pilot:
        app.palette.suggest("/st")
        await pilot.pause()
        await pilot.click(Palette, offset=(3, 0))
        assert app.clicked == ["/stop"]


async def test_a_marked_offer_wraps_at_the_width() -> None:
    app = Bench()
    async with app.run_test(size=(100, 24)) as pilot:
        app.palette.values = {"theme": [Value("night", "many words " * 6)]}
        app.palette.suggest("/theme n")
        await pilot.pause()
        wide = str(app.palette.render()).count("\n")
        await pilot.resize_terminal(50, 24)
        await pilot.pause()
        assert str(app.palette.render()).count("\n") > wide
