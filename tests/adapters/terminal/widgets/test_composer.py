"""The composer: the field for messages, answers and notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from adapters.terminal.history import History
from adapters.terminal.widgets.composer import Composer, Purpose
from adapters.terminal.widgets.palette import Palette, Suggestion

ANSWER = Purpose("answer", "r1")


class Bench(App[None]):
    """A composer, and what it sends."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.palette = Palette()
        self.prompts = History(folder / "history")
        self.composer = Composer(self.prompts, self.palette)
        self.sent: list[tuple[str, Purpose | None]] = []

    def compose(self) -> ComposeResult:
        yield self.palette
        yield self.composer

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.sent.append((event.text, event.purpose))


async def test_a_draft_is_kept_aside_while_an_answer_is_written(tmp_path: Path) -> None:
    app = Bench(tmp_path)
    async with app.run_test() as pilot:
        composer = app.composer
        composer.address("Message the reader", "To the reader")
        assert str(composer.placeholder).startswith("Message the reader")
        assert str(composer.border_title) == "To the reader"
        composer.set_draft("a thought")
        assert composer.cursor_location == (0, 9)
        composer.ask(ANSWER, "Where to?")
        assert (composer.text, composer.purpose, composer.unsent) == ("", ANSWER, "a thought")
        composer.focus()
        await pilot.press("o", "k", "enter")
        assert app.sent == [("ok", ANSWER)]
        composer.give_back("more")
        composer.stop_asking()
        assert (composer.text, composer.purpose) == ("more\na thought", None)


async def test_an_unsent_text_comes_back_before_or_into_the_history(tmp_path: Path) -> None:
    app = Bench(tmp_path)
    async with app.run_test():
        composer = app.composer
        assert not composer.put_aside()
        composer.give_back("@reader")
        assert composer.text == "@reader "
        assert composer.put_aside()
        composer.restore("an old draft")
        assert composer.text == "an old draft"
        composer.restore("another")
        assert (composer.text, app.prompts.older("")) == ("an old draft", "another")


async def test_typing_is_undone_and_done_again(tmp_path: Path) -> None:
    app = Bench(tmp_path)
    async with app.run_test() as pilot:
        composer = app.composer
        composer.focus()
        await pilot.press("a")
        composer.undo()
        assert composer.text == ""
        composer.redo()
        assert composer.text == "a"


@pytest.mark.parametrize("runs", [True, False])
async def test_a_choice_is_written_and_sent_if_it_runs(runs: bool, tmp_path: Path) -> None:
    app = Bench(tmp_path)
    async with app.run_test() as pilot:
        app.composer.take(Suggestion("/stop", "/stop", "", runs=runs))
        await pilot.pause()
        assert app.sent == ([("/stop", None)] if runs else [])
        assert app.composer.text == ("" if runs else "/stop")


async def test_a_queued_message_is_offered_back(tmp_path: Path) -> None:
    app = Bench(tmp_path)
    async with app.run_test():
        app.composer.offer_back(True)
        assert "up edits a queued message" in str(app.composer.placeholder)
        app.composer.offer_back(False)
        assert "up edits a queued message" not in str(app.composer.placeholder)
