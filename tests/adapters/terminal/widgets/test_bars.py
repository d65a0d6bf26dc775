"""The head, the empty thread, and a thread that is being read."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.terminal.widgets.bars import StatusBar
from gateway.agent_state import Used
from gateway.base.terminal_keys import USUAL_KEYS
from tests.adapters.terminal.running import began, called, chatting, ended, said, speaker
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


async def test_the_head_keeps_the_whole_team_and_its_name(tmp_path: Path):
    client = ScriptedClient()
    client.team_agents = dict.fromkeys(("planner", "coder", "reviewer"), "m")
    thread = client.add_thread("Fix")
    await client.happen(thread, began("go"), speaker("coder"), called("coder", "c", "shell"))
    async with chatting(client, tmp_path) as chat:
        await chat.until(lambda: "demo:  planner  coder shell  reviewer" in chat.text())
        client.team_agents = {f"agent_number_{number}": "m" for number in range(9)}
        assert chat.screen.conversation
        await chat.screen.conversation.load_agents()
        await chat.until(lambda: "demo:  coder shell  agent_number_0" in chat.text())


async def test_a_thread_that_is_being_read_says_so(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Long")
    entry = client.all[thread]
    entry.info = replace(entry.info, last_seq=2)  # of which nothing has come yet
    async with chatting(client, tmp_path) as chat:
        await chat.until_shown("Loading the thread…", "loading…")
        assert "Write to the team" not in chat.text()
        await chat.happen(began("go"), said("helper", "m", "hello"), ended())
        await chat.until_shown("hello", "ready")
        assert "oading" not in chat.text()


async def test_a_clicked_example_is_the_draft_if_there_is_none(tmp_path: Path):
    client = ScriptedClient()
    client.team_agents = {"front_desk": "demo"}
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.until_shown("what is 12*7+1?")
        lines = chat.text().splitlines()
        row = next(number for number, line in enumerate(lines) if "12*7+1" in line)
        example = lines[row].index("what") + 2, row
        chat.composer.insert("a thought")
        await chat.pilot.click(offset=example)
        await chat.until_shown("Clear your draft first")
        assert chat.composer.text == "a thought"
        chat.composer.clear()
        await chat.pilot.click(offset=example)
        await chat.until(lambda: chat.composer.text == "what is 12*7+1?")
        assert not client.sent


async def test_ctrl_d_leaves_only_in_an_empty_draft(tmp_path: Path):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True) as chat:
        await chat.press(*"ab", "home", "ctrl+d")
        assert chat.composer.text == "b"
        await chat.press("ctrl+d")
        assert not chat.app._exit
        await chat.press("ctrl+d")
        await chat.until(lambda: chat.app._exit)
    assert chat.app.return_value == 0


@pytest.mark.parametrize("width", [38, 58, 98])
async def test_the_status_line_has_whole_hints_only(width: int):
    bar = StatusBar(USUAL_KEYS)
    bar.show_usage(["demo-model"], Used(1200, 34, unpriced=1234))
    bar.show_ready(waits=False)
    state, *shown = bar.line(width).plain.split("  ")
    hints = ["F1 help", "ctrl+s threads", "ctrl+j new line"]
    assert state == "ready"
    assert [hint.strip() for hint in shown] == hints[: len(shown)]
    usage = "demo-model  in 1.2k  out 34"
    assert bar.usage(width) == (usage if width == 38 else f"{usage}  price unknown")
    assert len(bar.line(width)) + 2 + len(bar.usage(width)) <= width
    assert (len(shown) == len(hints)) == (width == 98)
