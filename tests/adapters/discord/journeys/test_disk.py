"""A full disk neither ends the bot nor loses a message."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.discord import adapter
from adapters.discord.connection import event_queue as events
from adapters.discord.connection import shards
from adapters.discord.inbound.interaction_replies import NOT_STORED
from adapters.discord.testing import DiscordSimulator
from gateway.store.units import adapters as adapter_units
from tests.adapters.discord.serving import (
    SHARD,
    bot_texts,
    response_of,
    serving,
    thread_of,
    wait_commands,
    wait_delivered,
)
from tests.chaos.sqlite_layer import OK, watched
from tests.chaos.test_disk import FULL, MOODS, FailingDisk, pytestmark
from tests.gateway.scripted import solo

__all__ = ["pytestmark"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FailingDisk]:
    moody = FailingDisk(tmp_path)
    with watched(moody):
        yield moody


async def wait_logged(caplog: pytest.LogCaptureFixture, text: str, times: int = 1) -> None:
    async with asyncio.timeout(20):
        while caplog.text.count(text) < times:  # noqa: ASYNC110 (a log tells nobody)
            await asyncio.sleep(0.01)


@MOODS
async def test_a_disk_that_takes_nothing_for_a_while_ends_neither_the_bot_nor_what_is_said(
    discord: DiscordSimulator,
    tmp_path: Path,
    disk: FailingDisk,
    mood: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(shards, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(adapter, "FIRST_WAIT", 0.05)
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    async with serving(discord, tmp_path / "store", lambda: solo("Here.")) as gateway:
        disk.mood = mood
        asked = await alice.mentions(general, "are you here?")
        await bob.says(bob.direct, "are you there?")
        await wait_logged(caplog, "could not handle MESSAGE_CREATE", 2)
        await wait_logged(caplog, "could not store the state of shard 0")

        disk.mood = OK
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread), seconds=20)
        await discord.until(lambda: bot_texts(discord, bob.direct), seconds=20)
        await wait_delivered(gateway)
        assert SHARD in await gateway.store.run(adapter_units.marks, "discord")
    assert (
        bot_texts(discord, thread_of(asked))
        == bot_texts(discord, bob.direct)
        == ["-# 🐺 **solo**\nHere."]
    )


async def test_what_is_said_while_a_disk_takes_nothing_is_kept_longer_than_all_waits(
    discord: DiscordSimulator,
    tmp_path: Path,
    disk: FailingDisk,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(events, "RETRY_SECONDS", (0.01, 0.02))
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path / "store", lambda: solo("Here.")) as gateway:
        disk.mood = FULL
        asked = await alice.mentions(general, "are you here?")
        await wait_logged(caplog, "could not handle MESSAGE_CREATE, retry", 10)
        disk.mood = OK
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread), seconds=20)
        await wait_delivered(gateway)


@pytest.mark.timeout(30)  # a connection begins five seconds after another
async def test_what_there_is_no_room_for_is_read_when_the_next_connection_begins(
    discord: DiscordSimulator,
    tmp_path: Path,
    disk: FailingDisk,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(events, "RETRY_SECONDS", (0.01, 0.02))
    alice, bob, ahead = discord.person("alice"), discord.person("bob"), 0.0
    async with serving(
        discord, tmp_path / "store", lambda: solo("One.", "Two."), clock=lambda: time.time() + ahead
    ) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 1)
        await wait_delivered(gateway)
        monkeypatch.setattr(events, "MAX_EVENTS", 1)
        disk.mood = FULL
        await bob.says(bob.direct, "this is kept")
        await wait_logged(caplog, "could not handle MESSAGE_CREATE, retry")
        await alice.says(alice.direct, "and now?")
        await wait_logged(caplog, "read with the next connection")
        monkeypatch.setattr(events, "MAX_EVENTS", 100)
        disk.mood = OK
        ahead = 600.0  # what follows is heard, so that nothing but the loss says where to begin
        await bob.says(bob.direct, "am I heard?")
        await discord.until(lambda: bot_texts(discord, bob.direct), seconds=20)
        discord.gateway.invalidate()
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2, seconds=20)
        await wait_delivered(gateway)
    assert bot_texts(discord, alice.direct)[1].endswith("Two.")


async def test_whoever_uses_a_command_is_told_that_nothing_can_be_stored(
    discord: DiscordSimulator, tmp_path: Path, disk: FailingDisk
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path / "store", lambda: solo("Here.")) as gateway:
        await wait_commands(discord)
        disk.mood = FULL
        refused = [
            await discord.answered(await alice.slash(general, "ask", text="are you here?")),
            await discord.answered(await alice.slash(general, "status")),
        ]
        disk.mood = OK
        await wait_delivered(gateway)
    assert [response_of(each).content for each in refused] == [NOT_STORED] * 2
    assert all(response_of(each).visible_to is alice.user for each in refused)
