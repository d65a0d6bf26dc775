"""Dialogs under keys that come twice, or faster than the screen follows."""

from pathlib import Path

import pytest
from rich.style import Style
from textual.events import Click
from textual.widgets import OptionList

from adapters.terminal.widgets.overlay import Search
from adapters.terminal.widgets.thread_list import ThreadsScreen
from tests.adapters.terminal.running import Chat, chatting
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


async def _open_threads(chat: Chat) -> None:
    chat.composer.insert("a draft")
    await chat.press("ctrl+s")
    await chat.until(lambda: isinstance(chat.app.screen, ThreadsScreen))
    await chat.until_shown("enter open")


@pytest.mark.parametrize(
    "keys",
    [
        ("enter", "enter"),
        ("n", "n"),
        ("d", "d", "n", "n", "escape"),
        ("r", "r", "escape", "escape", "escape"),
    ],
    ids="-".join,
)
async def test_a_dialog_closes_once_whatever_keys_come_twice(tmp_path: Path, keys: tuple[str, ...]):
    client = ScriptedClient()
    client.add_thread("one")
    async with chatting(client, tmp_path, size=(80, 24)) as chat:
        await _open_threads(chat)
        chat.at_once(*keys)
        await chat.pilot.pause()
        await chat.escape_to_composer()
        assert chat.screen.conversation is not None
        chat.screen.conversation.open(client.all["t1"].info)
        assert chat.composer.text == "a draft"
        assert list(client.all) == ["t1"]


async def test_the_palette_closes_once(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        chat.at_once("ctrl+p", "ctrl+p")
        await chat.until(lambda: isinstance(chat.app.screen, Search))
        assert len(chat.app.screen_stack) == 2
        chat.at_once("escape", "escape", "escape")
        await chat.until(lambda: len(chat.app.screen_stack) == 1)
        await chat.press("x")
        assert chat.composer.text == "x"


async def test_a_question_is_asked_once(tmp_path: Path):
    client = ScriptedClient()
    client.add_thread("one")
    async with chatting(client, tmp_path) as chat:
        chat.screen.action_command("rename")
        chat.screen.action_command("rename")
        await chat.until(lambda: len(chat.app.screen_stack) == 2)
        await chat.press("!", "enter")
        await chat.until(lambda: client.all["t1"].info.title == "!")
        assert len(chat.app.screen_stack) == 1


@pytest.mark.parametrize(("key", "kind"), [("ctrl+s", ThreadsScreen), ("ctrl+p", Search)])
async def test_a_click_on_a_row_that_was_removed_meanwhile_does_nothing(
    tmp_path: Path, key: str, kind: type
):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        await chat.press(key)
        await chat.until(lambda: isinstance(chat.app.screen, kind))
        rows = chat.app.screen.query_one(OptionList)
        gone = Style.from_meta({"option": rows.option_count})
        rows.post_message(Click(rows, 0, 0, 0, 0, 1, False, False, False, style=gone))
        await chat.pilot.pause()
        assert isinstance(chat.app.screen, kind)
        await chat.press("escape")
        assert "Something went wrong" not in chat.text()
