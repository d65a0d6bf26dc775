"""After a restore no session is resumed, and nothing answered again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord.connection import shards
from adapters.discord.testing import DiscordSimulator, Message
from gateway.gateway import Gateway
from gateway.missed import BEFORE_LOSS
from gateway.store.units import gaps, losses
from gateway.store.units.losses import add_loss
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    serving,
    thread_of,
    wait_accepted,
    wait_caught_up,
    wait_delivered,
)
from tests.fakes.lost_records import copy_store, put_back
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import UnitStore, at
from tests.gateway.scripted import ALLOW, ScriptedTeams, calls, solo

ran: list[str] = []


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "LOOK_SECONDS", 0.02)
    ran.clear()


def ring() -> str:
    """Ring a bell; it rings again if it is rung again."""
    ran.append("ring")
    return "rung"


def team() -> ScriptedTeams:
    def make():
        return solo(calls("ring"), "It rang.", tools=[ring])

    return ScriptedTeams(make, rules={"ring": ALLOW})


async def ends_at_once(discord: DiscordSimulator) -> None:
    """The process is gone, and its session with Discord is not."""
    await discord.until(lambda: not discord.gateway.open_sessions)


async def has_cursor(gateway: Gateway) -> None:
    """Wait until the session of a shard is in the store."""
    async with asyncio.timeout(10):
        while '"id"' not in str(await gateway.marks.read("discord")):  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


@asynccontextmanager
async def restored(
    discord: DiscordSimulator,
    folder: Path,
    texts: list[str],
    *,
    more: Sequence[str] = (),
    resumes: bool = False,
    ahead: float = 0.0,
) -> AsyncGenerator[tuple[Gateway, list[Message]]]:
    """A gateway on a copy from before these messages, which were answered.

    `more` was said in the first one's thread, as the process ended.
    """
    general, alice, copy = discord.channel("general"), discord.person("alice"), folder / "copy"
    async with serving(discord, folder / "store", team()) as gateway:
        await alice.mentions(general, "before")
        await discord.until(lambda: ran)
        await wait_delivered(gateway)
        await has_cursor(gateway)
        cursor = await gateway.marks.read("discord")
        await copy_store(folder / "store", copy)
        asked = [await alice.mentions(general, text) for text in texts]
        await discord.until(lambda: len(ran) == 1 + len(texts))
        await wait_delivered(gateway)
    for text in more:
        await alice.says(thread_of(asked[0]), text)
    await put_back(folder / "store", copy)
    if resumes:
        store = new_store(folder / "store")
        async with store.own():
            await store.run(gaps.add_gaps, "discord", (), cursor)
    async with serving(
        discord,
        folder / "store",
        team(),
        resumes=True,
        gateway_clock=lambda: time.time() + ahead,
    ) as gateway:
        yield gateway, asked


@pytest.mark.usefixtures("database")
async def test_what_was_answered_since_the_copy_is_offered_and_no_tool_runs_again(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    async with restored(discord, tmp_path, ["one", "two", "three"]) as (gateway, asked):
        assert [loss.cause for loss in await gateway.store.run(losses.losses)] == ["restored"]
        await wait_caught_up(gateway, offer=3)
        await wait_delivered(gateway)
        assert discord.gateway.resumes == 0
        assert len(ran) == 4
        for message in asked:
            assert len(bot_texts(discord, thread_of(message))) == 1
        cards = bot_messages(discord, discord.channel("general"))
        assert {card.referenced.id for card in cards if card.referenced} == {
            message.id for message in asked
        }
        await discord.person("alice").clicks(cards[0], "Answer now")
        await discord.until(lambda: len(ran) == 5)


async def test_what_was_said_in_a_thread_of_a_lost_message_is_answered_with_it(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    """A button offers the conversation, which goes on in the thread."""
    said = ["and more", "and still more"]
    async with restored(discord, tmp_path, ["one"], more=said) as (gateway, asked):
        await wait_caught_up(gateway, offer=3)
        general, thread = discord.channel("general"), thread_of(asked[0])
        (card,) = (each for each in bot_messages(discord, general) if each.components)
        await discord.person("alice").clicks(card, "Answer now")
        await discord.until(lambda: "Answered" in str(card.components))
        for other in (each for each in bot_messages(discord, thread) if each.components):
            await discord.person("alice").clicks(other, "Answer now")
        await wait_accepted(gateway, 1 + 1 + len(said))


async def test_what_a_resumed_session_sends_again_is_offered_too(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    """The law holds whichever way a message comes."""
    texts = ["one", "two"]
    async with restored(discord, tmp_path, texts, resumes=True) as (gateway, asked):
        await wait_caught_up(gateway, offer=2)
        assert discord.gateway.resumes == 1
        assert len(ran) == 3
        cards = bot_messages(discord, discord.channel("general"))
        assert [card.referenced for card in cards] == asked


async def test_who_writes_on_in_a_thread_of_the_bot_s_own_is_answered_there(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    """The thread is the bot's, whatever the store has lost of it."""
    async with restored(discord, tmp_path, ["one", "two"]) as (gateway, asked):
        await wait_caught_up(gateway, offer=2)
        thread = thread_of(asked[0])
        await discord.person("alice").says(thread, "and now?")
        await discord.until(lambda: bot_messages(discord, thread)[1:])
        assert len(ran) == 3  # the team is told what stands there, and a tool is asked for then


async def test_a_click_from_then_is_answered_with_a_sentence(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    async with restored(discord, tmp_path, ["one"], ahead=7200.0) as (gateway, _):
        await wait_caught_up(gateway, offer=1)
        (card,) = bot_messages(discord, discord.channel("general"))
        assert isinstance(gateway.store, UnitStore)
        later = time.time() + 3600  # as if what is done now had been done before the loss
        await gateway.store.write(lambda c: add_loss(at(c, later), "damaged", since=1.0, commits=9))
        for act in (
            discord.person("alice").clicks(card, "Answer now"),
            discord.person("alice").slash(discord.channel("general"), "new"),
        ):
            done = await act
            await discord.until(lambda done=done: done.response and done.response.content)
            assert done.response is not None
            assert done.response.content == BEFORE_LOSS
        assert len(ran) == 2
