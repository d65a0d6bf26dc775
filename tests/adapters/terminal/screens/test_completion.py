"""Commands offer the values of their argument, and refuse others at once."""

from pathlib import Path

import pytest

from adapters.terminal.widgets.palette import Palette
from gateway.client import Choice, CommandInfo
from gateway.inbound.commands import QUEUE_WORDS
from tests.adapters.terminal.running import chatting
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


class Configured(ScriptedClient):
    """A client with two teams, two models and the commands for them."""

    def __init__(self) -> None:
        super().__init__()
        self.offered = {
            "team": [
                Choice(name="support", description="Answers customers: desk, expert"),
                Choice(name="writers", description="Writes: author, editor"),
            ],
            "model": [
                Choice(name="small", description="gpt-small"),
                Choice(name="large", description="gpt-large"),
            ],
        }
        self.team_agents = {"desk": "gpt-small", "expert": "gpt-large"}

    def commands(self) -> list[CommandInfo]:
        return [
            CommandInfo(
                name="queue",
                description="list waiting messages",
                argument="[what]",
                takes="word",
                choices=QUEUE_WORDS,
            ),
            CommandInfo(name="model", description="use a model", argument="[NAME]", takes="model"),
        ]


async def test_a_team_is_offered_with_what_it_is_and_another_is_refused(tmp_path: Path):
    client = Configured()
    client.add_thread("Old", id="old")
    async with chatting(client, tmp_path) as chat:
        chat.composer.insert("/new ")
        await chat.until_shown("▸ support", "Answers customers: desk, expert", "writers")
        chat.composer.insert("rit")
        await chat.press("tab")
        assert chat.composer.text == "/new writers"
        await chat.press("escape")
        await chat.until(lambda: "author, editor" not in chat.text())
        assert chat.composer.text == "/new writers"
        await chat.press("ctrl+c")
        await chat.type("/new suport")
        await chat.until_shown("There is no team 'suport'; did you", "support, writers.")
        assert chat.composer.text == "/new suport"
        assert chat.thread == "old"
        assert list(client.all) == ["old"]
        await chat.press("ctrl+c")
        chat.composer.insert("/new wr")
        await chat.press("enter")
        await chat.type("hello")
        await chat.until(lambda: client.sent)
        assert client.all[chat.thread].info.team == "writers"


async def test_a_message_right_behind_a_new_team_is_for_that_team(tmp_path: Path):
    client = Configured()
    client.add_thread("Old", id="old")
    async with chatting(client, tmp_path) as chat:
        chat.composer.insert("/new writers")
        chat.at_once("enter", *"hi", "enter")
        await chat.until(lambda: client.sent)
        assert client.sent == [(chat.thread, "hi")]
        assert chat.thread != "old"


async def test_themes_are_seen_while_they_are_marked_and_kept_when_taken(tmp_path: Path):
    async with chatting(Configured(), tmp_path, new=True) as chat:
        chat.composer.insert("/them")
        await chat.press("enter")
        await chat.until_shown("▸ parley-dark", "dark")
        assert chat.composer.text == "/theme "
        chat.at_once("down", "down", "up")
        await chat.until(lambda: chat.app.theme == "ansi-dark")
        chat.composer.insert("nor")
        await chat.until(lambda: chat.app.theme == "nord")
        await chat.press("escape")
        await chat.until(lambda: chat.app.theme == "parley-dark")
        assert chat.composer.text == "/theme nor"
        assert not (tmp_path / "theme").exists()
        await chat.press("d")
        await chat.until(lambda: chat.app.theme == "nord")
        await chat.press("enter")
        await chat.until((tmp_path / "theme").exists)
        assert chat.app.theme == "nord"
        assert (tmp_path / "theme").read_text().startswith("nord\n")
        await chat.type("/theme nrd")
        await chat.until_shown("There is no theme 'nrd'", "and 11 more.")
        assert chat.app.theme == "nord"


@pytest.mark.chaos
async def test_threads_agents_modes_and_models_are_offered(tmp_path: Path):
    client = Configured()
    client.add_thread("Old", id="old", ago=90)
    client.add_thread("Trip to Lisbon", id="trip")
    async with chatting(client, tmp_path) as chat:
        chat.composer.insert("/open ol")
        await chat.until_shown("▸ Old", "demo, 1m, idle")
        await chat.press("enter")
        await chat.until(lambda: chat.thread == "old")
        chat.composer.insert("/only ")
        await chat.until_shown("▸ desk", "gpt-small", "expert")
        await chat.press("down", "enter")
        await chat.until_shown("only expert")
        chat.composer.insert("/queue mode ")
        await chat.until_shown("mode queue", "mode steer", "mode collect")
        chat.composer.insert("st")
        await chat.press("enter")
        await chat.until(lambda: client.sent == [("old", "/queue mode steer")])
        chat.composer.insert("/queue d")
        await chat.press("enter")
        assert chat.composer.text == "/queue drop "
        await chat.press("ctrl+c")
        chat.composer.insert("/model ")
        await chat.until_shown("▸ small", "gpt-large")
        await chat.press("ctrl+c")
        await chat.type("/model huge")
        await chat.until_shown("There is no model 'huge'", "large.")
        assert chat.composer.text == "/model huge"
        assert len(client.sent) == 1
        await chat.press("ctrl+c")
        chat.composer.insert("/model Small")
        await chat.until_shown("▸ small")
        await chat.press("escape", "enter")
        await chat.until(lambda: client.sent[1:] == [("old", "/model Small")])


@pytest.mark.parametrize("size", [(40, 12), (150, 42)])
async def test_the_list_leaves_room_for_the_draft_and_takes_clicks(tmp_path: Path, size):
    async with chatting(Configured(), tmp_path, new=True, size=size) as chat:
        chat.composer.insert("/new ")
        await chat.until_shown("/new", "▸ support", "writers")
        palette = chat.screen.query_one(Palette)
        assert palette.region.bottom <= chat.composer.region.y
        assert chat.composer.region.bottom <= size[1]
        row = next(y for y, line in enumerate(chat.text().splitlines()) if "  writers" in line)
        await chat.pilot.click(offset=(palette.region.x + 4, row))
        await chat.until(lambda: chat.composer.text == "")
        assert chat.screen.conversation is not None
        conversation = chat.screen.conversation
        await chat.until(lambda: conversation.team == "writers")


def test_the_wheel_turns_nothing_where_no_list_is_open():
    palette = Palette()
    palette.on_mouse_scroll_down()
    assert palette.choice is None
