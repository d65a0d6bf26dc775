"""Answers that left something unsaid, on the screen."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.events import CONTINUE, MARKS, Ending, Notice
from gateway.items import AgentItem
from gateway.picture import Picture
from tests.adapters.terminal.running import began, chatting, delta, ended, said, speaker
from tests.fakes.scripted_client import ScriptedClient


@pytest.mark.parametrize("ending", ["broken", "cut", "filtered", "refused"])
def test_each_ending_has_its_mark(ending: Ending):
    picture = Picture()
    picture.apply(replace(said("ann", "m", "Once upon"), ending=ending))
    (item,) = picture.items.values()
    assert isinstance(item, AgentItem)
    assert (item.text, item.mark) == ("Once upon", MARKS[ending])


async def test_the_mark_stands_below_the_text(tmp_path: Path):
    ending: Ending = "filtered"
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


async def test_a_key_continues_a_cut_answer_once(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Tale")
    offer = Notice(thread="", text="ann can go on from there.", command=CONTINUE, label="Continue")
    async with chatting(client, tmp_path) as chat:
        await chat.happen(began("Tell."), speaker("ann"))
        await chat.happen(replace(said("ann", "m", "Once"), ending="cut"), offer, ended())
        await chat.until_shown("F5 continue", "(Continue: /continue)")
        await chat.press("f5")
        await chat.until(lambda: (thread, CONTINUE) in client.sent)
        await chat.happen(began(), speaker("ann"), said("ann", "n", "The end."), ended())
        await chat.until_shown("The end.", "F1 help")
        await chat.press("f5")
        await chat.until_shown("There is no turn to try again.")
        assert client.sent.count((thread, CONTINUE)) == 1
