"""Texts that were too long for a model, on the screen."""

from pathlib import Path

from gateway.client import CommandInfo
from gateway.errors import TOO_LONG
from gateway.events import Notice
from gateway.inbound.commands import command_infos
from tests.adapters.terminal.running import began, chatting, ended
from tests.fakes.scripted_client import ScriptedClient


class Offering(ScriptedClient):
    def commands(self) -> list[CommandInfo]:
        return command_infos()


async def test_the_ways_are_shown_and_offered_as_one_types(tmp_path: Path):
    client = Offering()
    thread = client.add_thread("Diary")
    offer = Notice(thread="", text=TOO_LONG["message"], level="error", aside="message")
    async with chatting(client, tmp_path) as chat:
        await chat.happen(began("A word."), offer, ended("failed"))
        await chat.until_shown("/aside summarise", "/aside attach", "/aside drop")
        chat.composer.insert("/aside ")
        await chat.until_shown("▸ summarise", "attach", "drop")
        await chat.press("down", "enter")
        await chat.until(lambda: (thread, "/aside attach") in client.sent)
