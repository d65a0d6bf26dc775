"""Dialogs: a question, an input line, a long text, the help."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea

from adapters.terminal.commands import Commands
from adapters.terminal.key_guard import TypingGuard
from adapters.terminal.widgets.dialogs import HelpDialog, InputDialog, QuestionDialog, TextDialog
from tests.fakes.hand_clock import HandClock


@asynccontextmanager
async def shown(screen: Screen[Any]) -> AsyncGenerator[tuple[Pilot[None], list[Any]]]:
    """The dialog over an empty app; its results."""
    results: list[Any] = []
    app = App[None]()
    async with app.run_test() as pilot:
        await app.push_screen(screen, results.append)
        yield pilot, results


def said(screen: Screen[Any]) -> str:
    return "\n".join(str(each.render()) for each in screen.query(Static))


async def test_a_line_is_saved_or_left() -> None:
    dialog = InputDialog("Title", "Lunch")
    async with shown(dialog) as (pilot, results):
        assert "Title" in said(dialog)
        assert dialog.query_one(Input).value == "Lunch"
        await pilot.press("end", "!", "enter")
        assert results == ["Lunch!"]
    async with shown(InputDialog("Title", "Lunch")) as (pilot, results):
        await pilot.press("escape")
        assert results == [None]


async def test_a_question_is_agreed_to_by_a_key_of_its_own() -> None:
    clock = HandClock()
    guard = TypingGuard(clock)
    dialog = QuestionDialog("Go on?", "It is another config's.", guard, "y goes on")
    async with shown(dialog) as (pilot, results):
        assert "It is another config's." in said(dialog)
        await pilot.press("a", "y")
        assert results == []
        clock.advance(60)
        await pilot.press("y")
        assert results == [True]


async def test_a_long_text_is_whole() -> None:
    dialog = TextDialog("Result", "one\ntwo")
    async with shown(dialog):
        assert dialog.query_one(TextArea).text == "one\ntwo"


@pytest.mark.parametrize("shows", ["send", "/stop", "Stop the team"])
async def test_the_help_lists_keys_and_commands(shows: str) -> None:
    dialog = HelpDialog(Commands())
    async with shown(dialog):
        assert shows in said(dialog)
