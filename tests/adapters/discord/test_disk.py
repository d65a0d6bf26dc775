"""A disk that stops taking anything does not end the bot, and nothing that was said is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.discord import adapter
from adapters.discord.simulator import DiscordSimulator, Slow
from tests.adapters.discord.serving import all_told, said, serving, thread_of
from tests.chaos.sqlite_layer import OK, watched
from tests.chaos.test_disk import MOODS, Moody, pytestmark
from tests.gateway.scripted import solo

__all__ = ["pytestmark"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Moody]:
    moody = Moody(tmp_path)
    with watched(moody):
        yield moody


async def logged(caplog: pytest.LogCaptureFixture, text: str, times: int = 1) -> None:
    async with asyncio.timeout(8):
        while caplog.text.count(text) < times:  # noqa: ASYNC110 (a log tells nobody)
            await asyncio.sleep(0.01)


@MOODS
async def test_a_disk_that_takes_nothing_for_a_while_ends_neither_the_bot_nor_what_is_said(
    discord: DiscordSimulator,
    tmp_path: Path,
    disk: Moody,
    mood: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(adapter, "NOTE_SECONDS", 0.05)
    monkeypatch.setattr(adapter, "FIRST_WAIT", 0.05)
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    discord.faults.plan(Slow(0.5), method="PUT", path="/commands")
    async with serving(discord, tmp_path / "store", lambda: solo("Here.")) as gateway:
        disk.mood = mood
        asked = await alice.mentions(general, "are you here?")
        await bob.says(bob.direct, "are you there?")
        await logged(caplog, "MESSAGE_CREATE was not taken", 2)
        await logged(caplog, "all was heard is not noted")
        await logged(caplog, "not told of the commands")

        disk.mood = OK
        await discord.until(lambda: asked.thread and said(discord, asked.thread), seconds=8)
        await discord.until(lambda: said(discord, bob.direct), seconds=8)
        await all_told(gateway)
        assert {"seen", "commands"} <= set(await gateway.store.marks("discord"))
    assert said(discord, thread_of(asked)) == said(discord, bob.direct) == ["**solo**\nHere."]
