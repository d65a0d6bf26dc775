"""Buttons below missed messages: each is below one, and none hides another."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord.connection.values import sent_at
from adapters.discord.inbound import missed_messages
from adapters.discord.inbound.archived_threads import place_of
from adapters.discord.testing import Channel, DiscordSimulator, Message
from gateway.gateway import Gateway
from gateway.missed import Gap
from gateway.store.units import gaps
from gateway.store.units.losses import add_loss
from tests.adapters.discord.serving import (
    bot_messages,
    mark_heard,
    serving,
    thread_of,
    wait_accepted,
    wait_caught_up,
    wait_delivered,
    wait_seen_mark,
)
from tests.fakes.lost_records import copy_store, put_back
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import at
from tests.gateway.scripted import solo


class Missing:
    """A thread in which messages are missed, and its process."""

    def __init__(self, discord: DiscordSimulator, folder: Path) -> None:
        self._discord, self._folder = discord, folder
        self._alice = discord.person("alice")
        self.now = discord.world.clock.now
        self.thread: Channel
        self.said: list[Message] = []

    async def begin(self) -> None:
        """Let the team make its thread."""
        async with self.serving() as gateway:
            asked = await self._alice.mentions(self._discord.channel("general"), "hello")
            await wait_accepted(gateway, 1)
            await wait_delivered(gateway)
            await wait_seen_mark(gateway)
        self.thread = thread_of(asked)

    async def says(self, *texts: str) -> None:
        """Write messages, half a minute apart."""
        for text in texts:
            self._discord.advance(30)
            self.said.append(await self._alice.says(self.thread, text))

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Gateway]:
        """Serve, until nothing is left of the connection."""
        async with serving(
            self._discord,
            self._folder,
            lambda: solo("One.", "Two."),
            clock=self.now,
            gateway_clock=self.now,
        ) as gateway:
            yield gateway
        await self._discord.until(lambda: not self._discord.gateway.open_sessions)

    async def back(self, first: int, *, offers: int, after_loss: bool = False) -> None:
        """Serve with a gap that begins with this message, and no other."""
        now, store = self.now(), new_store(self._folder, clock=self.now)
        since = sent_at(str(self.said[first].id)) - 1
        gap = Gap(
            place=place_of("discord", str(self.thread.id)), since=since, until=now, newest=now
        )
        async with store.own():
            await mark_heard(store, now)
            await store.run(gaps.add_gaps, "discord", [gap], {})
            if after_loss:
                await store.write(lambda c: add_loss(at(c, now), "damaged", since=1.0, commits=9))
        async with self.serving() as gateway:
            await wait_caught_up(gateway, offer=offers)

    @property
    def offered(self) -> list[str]:
        """The messages below which a button stands."""
        buttons = [each for each in bot_messages(self._discord, self.thread) if each.components]
        return [each.referenced.content for each in buttons if each.referenced]

    async def answer(self) -> None:
        """Press the last button, until it says so."""
        *_, button = (each for each in bot_messages(self._discord, self.thread) if each.components)
        await self._alice.clicks(button, "Answer now")
        await self._discord.until(lambda: "Answered" in str(button.components))


@pytest.fixture
async def missing(discord: DiscordSimulator, tmp_path: Path) -> Missing:
    missing = Missing(discord, tmp_path)
    await missing.begin()
    await missing.says("first", "second", "third")
    discord.advance(7200)
    return missing


async def test_a_button_hides_nothing_that_was_said_before_what_it_answers(
    missing: Missing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missed_messages, "PAGE", 2)
    await missing.back(2, offers=1)
    await missing.back(1, offers=1 + 2)
    await missing.back(0, offers=1 + 2 + 3)
    assert missing.offered == ["third", "second", "first"]


async def test_a_button_stands_once_however_often_its_gap_is_read(missing: Missing) -> None:
    await missing.back(0, offers=3)
    await missing.back(0, offers=6)
    await missing.back(1, offers=8)
    assert missing.offered == ["first"]


async def test_a_button_hides_nothing_that_was_said_after_it(missing: Missing) -> None:
    await missing.back(1, offers=2)
    await missing.says("after")
    await missing.back(1, offers=2 + 3, after_loss=True)
    assert missing.offered == ["second", "after"]


async def test_a_button_that_was_used_hides_nothing_that_the_store_has_lost(
    missing: Missing, discord: DiscordSimulator, tmp_path: Path
) -> None:
    await missing.back(0, offers=3)
    await copy_store(tmp_path, tmp_path / "copy")
    async with missing.serving() as gateway:
        await missing.answer()
        await wait_accepted(gateway, 4)
    await put_back(tmp_path, tmp_path / "copy")
    discord.advance(30)
    await missing.back(0, offers=6, after_loss=True)
    assert missing.offered == ["first", "first"]


async def test_the_last_of_several_buttons_answers_all(missing: Missing) -> None:
    await missing.back(1, offers=2)
    await missing.back(0, offers=5)
    async with missing.serving() as gateway:
        await missing.answer()
        await wait_accepted(gateway, 4)
        await wait_delivered(gateway)
