"""Find in the transcript and in earlier prompts, by keys."""

from pathlib import Path

import pytest

from adapters.terminal.history import History
from gateway import events
from tests.adapters.terminal.running import (
    Chat,
    began,
    called,
    chatting,
    delta,
    ended,
    returned,
    said,
    speaker,
)
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)
LINES = "\n".join(f"row {number}" for number in range(60))


async def long_thread(client: ScriptedClient, turns: int) -> None:
    """A call with a long result, and then many short turns."""
    thread = client.add_thread("Long")
    await client.happen(
        thread,
        began("read"),
        speaker("helper"),
        called("helper", "c", "read_rows"),
        returned("helper", "c", "read_rows", f"first\n{LINES}\nlast one"),
        events.Thought(thread="", agent="helper", text="now think\nabout something"),
    )
    for turn in range(turns):
        await client.happen(thread, began(f"**end** of {turn}", first=1000 + turn), ended())
    text = "an **answer**\n\n- one\n\nthe end of it all"
    await client.happen(thread, said("helper", "m", text))


def marked(chat: Chat) -> str:
    """The text that is highlighted."""
    return chat.app.screen.get_selected_text() or ""


@pytest.mark.chaos
async def test_find_reaches_the_whole_thread_and_leaves_the_draft_alone(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 40)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("the end of it all")
        chat.composer.insert("my draft")
        chat.composer.move_cursor((0, 2))
        await chat.press("ctrl+f", "T", "H", "I", "N")
        await chat.until_shown("find THIN", "2 of 2", "about something")
        assert marked(chat) == "thin"
        await chat.press("enter", "n", "N", "shift+enter")
        await chat.until_shown("2 of 2", "about something")
        await chat.press("slash")
        await chat.press(*"last")
        await chat.until_shown("1 of 1", "row 59", "last one")
        assert marked(chat) == "last"
        await chat.press("escape")
        await chat.until(lambda: "1 of 1" not in chat.text())
        assert (chat.composer.text, chat.composer.cursor_location) == ("my draft", (0, 2))
        assert chat.composer.has_focus
        assert marked(chat) == ""


@pytest.mark.chaos
async def test_a_command_finds_and_what_comes_is_counted(tmp_path: Path):
    client = ScriptedClient()
    await long_thread(client, 1)
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("the end of it all")
        await chat.type("/find answer")
        await chat.until_shown("1 of 1")
        assert marked(chat) == "answer"
        await chat.happen(began("an answer, at last", first=2000))
        await chat.until_shown("1 of 2")
        await chat.happen(delta("helper", "s", "one more answer"))
        await chat.until_shown("1 of 3")
        await chat.press("down", "down")
        await chat.until_shown("3 of 3")
        await chat.happen(delta("helper", "s", " grows"))
        await chat.until_shown("one more answer grows")
        await chat.until(lambda: marked(chat) == "answer")
        await chat.press("slash", "?", "escape")
        assert chat.composer.has_focus


async def test_an_earlier_prompt_is_found_by_its_words_and_taken_as_draft(tmp_path: Path):
    history = History(tmp_path / "prompts.jsonl")
    for prompt in ("deploy to staging", "run the tests", "deploy\nto production", "thanks"):
        history.add(prompt)
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        chat.composer.insert("half a dra")
        await chat.press("ctrl+r")
        await chat.until_shown("history", "1 of 4   thanks")
        await chat.press(*"DEPL")
        await chat.until_shown("1 of 2   deploy to production")
        await chat.press("escape")
        assert chat.composer.text == "half a dra"
        await chat.press("ctrl+r", "ctrl+r", "ctrl+r")
        await chat.until_shown("2 of 2   deploy to staging")
        await chat.press("down", "enter")
        await chat.until(lambda: chat.composer.text == "deploy\nto production")
        assert chat.composer.has_focus
        assert not client.sent
        await chat.press("up", "up")
        assert chat.composer.text == "half a dra"


async def test_find_shows_its_place_in_a_long_message_which_opens_whole(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Long")
    pasted = "\n".join(f"line {number} of the log" for number in range(3000))
    await client.happen(thread, began(f"look\n{pasted}\nwhy?"), ended())
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("look", "more lines, Enter shows all", "why?")
        await chat.press("ctrl+f", *"line 2000")
        await chat.until_shown("1 of 1", "line 2000 of the log", "lines above")
        assert marked(chat) == "line 2000"
        await chat.press("escape", "ctrl+f", *"more lines")  # what Parley says itself
        await chat.until_shown("No match was found.")
        await chat.escape_to_composer()
        await chat.press("ctrl+up", "enter")
        await chat.until_shown("esc goes back", "line 9 of the log")
        await chat.escape_to_composer()
