"""The team beside a wide chat."""

from pathlib import Path

import pytest

from adapters.terminal.widgets.team_panel import TeamPanel
from gateway import events
from tests.adapters.terminal.running import asked, began, called, chatting, said, speaker
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


async def test_each_agent_has_its_state_model_tool_and_tokens(tmp_path: Path):
    client = ScriptedClient()
    client.team_agents = {"planner": "gpt-x", "coder": "gpt-y", "[/nope]": ""}
    thread = client.add_thread("Fix")
    await client.happen(
        thread,
        began("go"),
        speaker("planner", "gpt-x"),
        said("planner", "m", "hello"),
        events.Usage(thread="", agent="planner", prompt_tokens=812, completion_tokens=120),
        speaker("coder", "gpt-y"),
        called("coder", "c", "shell"),
    )
    async with chatting(client, tmp_path, size=(139, 30)) as chat:
        await chat.until_shown("hello", "search")
        panel = chat.screen.query_one(TeamPanel)
        assert not panel.display
        await chat.pilot.resize_terminal(140, 30)
        await chat.until_shown("Team demo", "search")
        shown = [line.rpartition("│")[2].strip() for line in chat.text().splitlines()]
        at = shown.index("· planner")
        used = ["gpt-x", "932 tokens  price unknown"]
        assert shown[at : at + 4] == ["· planner", "rests", *used]
        assert shown[at + 5 : at + 8] == ["● coder", "runs shell", "gpt-y"]
        assert shown[at + 9 : at + 11] == ["· [/nope]", "not asked yet"]
        await chat.happen(asked("coder", "r", "Which one?"))
        await chat.until_shown("? coder", "asks you")
