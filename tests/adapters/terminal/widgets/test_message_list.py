"""Going back to before a message: esc esc, /rewind, /undo, /fork."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.key_guard import QUIET
from adapters.terminal.screens.thread_view import SECOND_PRESS
from adapters.terminal.widgets.dialogs import QuestionDialog
from adapters.terminal.widgets.message_list import MessageList
from tests.adapters.terminal.running import Chat, began, chatting, ended, said
from tests.fakes.scripted_client import ScriptedClient

TWO = (
    *(began("first\nquestion", first=1), said("a", "m1", "one"), ended()),
    *(began("second", first=2), said("a", "m2", "two"), ended()),
)


@asynccontextmanager
async def talked(tmp_path: Path, **place: Any) -> AsyncGenerator[Chat]:
    client = ScriptedClient()
    await client.happen(client.add_thread("Talk", id="t", **place), *TWO)
    async with chatting(client, tmp_path, thread="t") as chat:
        await chat.until_shown("two")
        yield chat


async def test_esc_esc_at_rest_lists_messages_and_the_chosen_one_is_the_draft(tmp_path: Path):
    async with talked(tmp_path) as chat:
        chat.clock.advance(SECOND_PRESS)
        await chat.press("escape", "escape")
        await chat.until_shown("Go back to before a message", "first question", "second")
        await chat.press("down", "enter")
        await chat.until(lambda: chat.composer.text == "first\nquestion")
        assert chat.client.forked == [("t", 0, 1)]


async def test_esc_leaves_the_list_and_changes_nothing(tmp_path: Path):
    async with talked(tmp_path) as chat:
        chat.clock.advance(SECOND_PRESS)
        await chat.press("escape", "escape")
        await chat.until(lambda: isinstance(chat.app.screen, MessageList))
        await chat.press("escape")
        await chat.until(lambda: not isinstance(chat.app.screen, MessageList))
        assert (chat.client.forked, chat.composer.text) == ([], "")


async def test_esc_esc_lists_nothing_with_a_draft_or_just_after_a_turn(tmp_path: Path):
    async with talked(tmp_path) as chat:
        chat.clock.advance(SECOND_PRESS)
        await chat.press("x", "escape", "escape")
        assert not isinstance(chat.app.screen, MessageList)
        await chat.press("backspace")
        await chat.happen(began("third", first=3))
        await chat.until_shown("working")
        await chat.happen(ended())
        await chat.until(lambda: "working" not in chat.text())
        await chat.press("escape", "escape", "escape")
        assert not isinstance(chat.app.screen, MessageList)
        chat.clock.advance(SECOND_PRESS)
        await chat.press("escape", "escape")
        await chat.until(lambda: isinstance(chat.app.screen, MessageList))


async def test_undo_takes_the_last_message_back(tmp_path: Path):
    async with talked(tmp_path) as chat:
        await chat.type("/undo")
        await chat.until(lambda: chat.composer.text == "second")
        assert chat.client.forked == [("t", 0, 2)]
        await chat.until_shown("Talk (fork)")


async def test_nothing_is_taken_back_while_the_team_works(tmp_path: Path):
    async with talked(tmp_path) as chat:
        await chat.happen(began("third", first=3))
        await chat.until_shown("working")
        await chat.type("/undo")
        await chat.until_shown("The team is not done yet")
        assert chat.client.forked == []


async def test_fork_goes_on_in_a_copy(tmp_path: Path):
    async with talked(tmp_path) as chat:
        await chat.type("/fork 1")
        await chat.until_shown("Talk (fork)")
        assert chat.client.forked == [("t", 1, 0)]
        await chat.type("/fork all")
        await chat.until_shown("forked:")


@pytest.mark.parametrize("key", ["y", "n", "escape"])
async def test_a_platforms_thread_is_forked_once_the_person_agrees(tmp_path: Path, key: str):
    async with talked(tmp_path, platform="slack", channel="C1") as chat:
        await chat.type("/fork 1")
        await chat.until_shown("people on Slack do not see the fork", "y forks it   n or esc")
        assert chat.client.forked == []
        chat.clock.advance(QUIET)
        await chat.press(key)
        if key == "y":
            await chat.until_shown("Talk (fork)")
        else:
            await chat.until(lambda: not isinstance(chat.app.screen, QuestionDialog))
        assert chat.client.forked == ([("t", 1, 0)] if key == "y" else [])
        assert (chat.thread == "t") == (key != "y")


async def test_a_platforms_thread_is_not_taken_back(tmp_path: Path):
    async with talked(tmp_path, platform="slack", channel="C1") as chat:
        await chat.type("/undo")
        await chat.until_shown("The thread is on Slack.")
        assert (chat.client.forked, chat.composer.text) == ([], "")
