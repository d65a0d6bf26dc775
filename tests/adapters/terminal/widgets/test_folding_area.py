"""A long paste is one line of the draft, and one unit."""

from pathlib import Path

import pytest
from textual.events import Paste

from adapters.terminal.drafts import Drafts
from tests.adapters.terminal.running import chatting
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)
LONG = "\r".join(f"line {number}" for number in range(240))
WHOLE = LONG.replace("\r", "\n")


@pytest.mark.chaos
async def test_a_long_paste_is_one_unit_and_goes_out_whole(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        composer = chat.composer

        def shown() -> str:
            return composer.text.replace("\u00a0", " ")

        async def paste(text: str) -> None:
            before = composer.text
            chat.app.post_message(Paste(text))
            await chat.until(lambda: composer.text != before)

        composer.insert("see ")
        await paste(LONG)
        assert shown() == "see [Pasted text #1: 240 lines]"
        await chat.until_shown("see [Pasted text #1: 240 lines]")
        await paste(LONG)
        assert shown() == "see [Pasted text #1: 240 lines][Pasted text #2: 240 lines]"
        await chat.press("backspace")
        assert shown() == "see [Pasted text #1: 240 lines]"
        await chat.press("left", "x", "right", "!")
        assert shown() == "see x[Pasted text #1: 240 lines]!"
        await chat.press("ctrl+left", "ctrl+left", "delete")
        assert shown() == "see x!"
        await chat.press("ctrl+underscore")
        assert shown() == "see x[Pasted text #1: 240 lines]!"
        composer.move_cursor((0, 0))
        composer.move_cursor((0, 12))
        assert composer.cursor_location == (0, 5)

        composer.insert("[Pasted text #1: 240 lines]", (0, 0))
        chat.clock.advance(1)
        whole = f"[Pasted text #1: 240 lines]see x{WHOLE}!"
        assert composer.unsent == whole
        draft = next((tmp_path / "drafts" / "1").glob("*.draft"))
        assert draft.read_text() == whole
        await chat.press("tab")
        assert composer.text == whole
        await chat.press("ctrl+underscore")
        assert len(composer.text) < 100
        await chat.press("enter")
        await chat.until(lambda: client.sent)
        assert client.sent[0][1] == whole
        await chat.press("up")
        assert composer.text == whole
        composer.set_draft("")
        await paste("one line, [Pasted\u00a0text\u00a0#1:\u00a0240\u00a0lines]")
        assert composer.unsent == "one line, [Pasted text #1: 240 lines]"
        composer.set_draft("")
        await paste("x" * 1500)
        await chat.until_shown("[Pasted text #3: 1,500 characters]")
        await chat.pilot.click(composer, offset=(8, 1))
        assert composer.text == "x" * 1500
    assert Drafts(tmp_path / "drafts").read(next(iter(client.all))) == "x" * 1500
