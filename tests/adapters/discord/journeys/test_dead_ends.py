"""People who can't be answered where they asked are told so directly."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator
from gateway.config.routes import Route
from tests.adapters.discord.serving import (
    bot_texts,
    response_of,
    serving,
    thread_of,
    wait_accepted,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

NOWHERE = "send_messages send_messages_in_threads create_public_threads"


async def test_each_person_is_told_once_of_a_channel_and_not_after_a_restart(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    discord.deny(general, discord.bot, NOWHERE)
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        for n, (person, text) in enumerate(((alice, "one"), (alice, "two"), (bob, "three"))):
            await person.mentions(general, text)
            await wait_accepted(gateway, n + 1)
            await wait_delivered(gateway)
        assert gateway.vitals.dead_ends == {"told": 2}
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await wait_delivered(gateway)
        assert gateway.vitals.dead_ends == {}
    for person in (alice, bob):
        (text,) = bot_texts(discord, person.direct)
        assert text.startswith(f"I can't answer you in <#{general.id}>: I may not write there.")


async def test_whoever_can_not_be_shown_what_a_command_says_is_told_why(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    discord.deny(general, discord.bot, NOWHERE)
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await alice.mentions(general, "/status")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await discord.until(lambda: gateway.vitals.dead_ends)
    assert gateway.vitals.dead_ends == {"told": 1}


async def test_a_channel_that_is_taken_away_while_the_team_works(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "two."])
    team = partial(solo, model, model_client_stream=True)
    async with serving(discord, tmp_path, team) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        discord.deny(general, discord.bot, "view_channel")
        go_on.set()
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
    assert "I have no access to it any more" in bot_texts(discord, alice.direct)[0]


async def test_a_locked_thread_is_told_of_for_itself(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    gates = [asyncio.Event(), asyncio.Event()]
    model = ScriptedModel(*[["One ", gate, "two."] for gate in gates])
    team = partial(solo, model, model_client_stream=True)
    async with serving(discord, tmp_path, team) as gateway:
        for n, gate in enumerate(gates):
            asked = await alice.mentions(general, "count")
            await discord.until(lambda at=asked: at.thread and bot_texts(discord, at.thread))
            discord.lock(thread_of(asked))
            gate.set()
            await discord.until(lambda many=n + 1: len(bot_texts(discord, alice.direct)) == many)
            await wait_delivered(gateway)
    assert all("thread is locked" in each for each in bot_texts(discord, alice.direct))


async def test_a_stranger_is_told_nothing_new(discord: DiscordSimulator, tmp_path: Path) -> None:
    general, alice, eve = discord.channel("general"), discord.person("alice"), discord.person("eve")
    route = Route(adapter="discord", channels=["*"], users=[str(alice.id)])
    discord.deny(general, discord.bot, NOWHERE)
    async with serving(discord, tmp_path, lambda: solo("Here."), routes=[route]) as gateway:
        await eve.mentions(general, "let me in")
        await discord.until(lambda: bot_texts(discord, eve.direct))
        assert gateway.vitals.dead_ends == {}
    assert bot_texts(discord, eve.direct) == ["You may not write to this team."]


async def test_whoever_takes_no_direct_messages_is_counted_and_not_tried_again(
    discord: DiscordSimulator, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    alice.closes_direct()
    discord.deny(general, discord.bot, NOWHERE)
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        for n, text in enumerate(("one", "two")):
            await alice.mentions(general, text)
            await wait_accepted(gateway, n + 1)
            await wait_delivered(gateway)
        assert gateway.vitals.dead_ends == {"untold": 1}
    assert "could not be told so directly" in caplog.text
    assert "50007" in caplog.text


async def test_a_question_by_command_is_told_of_as_well(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    discord.deny(general, discord.bot, NOWHERE)
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await wait_commands(discord)
        asked = await discord.answered(await alice.slash(general, "ask", text="hello?"))
        assert "hello?" in response_of(asked).content
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
