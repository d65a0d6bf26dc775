"""Answers that left something unsaid, on the screen."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.events import MARKS, Ending
from tests.adapters.terminal.running import began, chatting, delta, ended, said, speaker
from tests.fakes.scripted_client import ScriptedClient


@pytest.mark.parametrize("ending", ["broken", "cut", "filtered", "refused"])
async def test_the_mark_stands_below_the_text(tmp_path: Path, ending: Ending):
    client = ScriptedClient()
    client.add_thread("Tale")
    async with chatting(client, tmp_path) as chat:
        text = "Once upon\n\na time"
        await chat.happen(began("Tell."), speaker("ann"), delta("ann", "m", text))
        await chat.happen(replace(said("ann", "m", text), ending=ending), ended())
        await chat.until_shown(MARKS[ending])
        shown = chat.text()
        assert shown.index("a time") < shown.index(MARKS[ending])
        assert "…" not in shown[shown.index("a time") : shown.index(MARKS[ending])]
        await chat.happen(began("More."), speaker("ann"), said("ann", "n", "The end."), ended())
        await chat.until_shown("The end.")
        assert chat.text().count(MARKS[ending]) == 1
