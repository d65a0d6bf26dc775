"""Alarms that were none: lines and buttons nobody needs."""

import asyncio
from functools import partial
from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.serving import (
    RUNG_BELLS,
    bell_teams,
    bot_texts,
    response_of,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo


async def test_stopped_is_said_once(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice, never = discord.person("alice"), asyncio.Event()
    words = ScriptedModel(["A long story: ", never], ["Another: ", never])
    team = partial(solo, words, model_client_stream=True)
    async with serving(discord, tmp_path, team) as gateway:
        await wait_commands(discord)
        await alice.says(alice.direct, "what is it?")
        await words.asked()
        await alice.says(alice.direct, "!stop")
        await discord.until(lambda: "-# Stopped." in bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
        assert "\n".join(bot_texts(discord, alice.direct)).count("Stopped.") == 1
        await alice.says(alice.direct, "and now?")
        await words.asked(2)
        used = await alice.slash(alice.direct, "stop")
        await discord.answered(used)
        await discord.until(lambda: bot_texts(discord, alice.direct).count("-# Stopped.") == 2)
        await wait_delivered(gateway)
    assert "Stopped." not in response_of(used).content


async def test_an_unknown_command_is_answered_and_not_sent_to_the_model(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel("Fine.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, "!stpo")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        (told,) = bot_texts(discord, alice.direct)
        assert told.startswith("There is no command 'stpo'. Did you mean '/stop'?")
        assert model.requests == []
        await alice.says(alice.direct, "!important things first")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        await wait_delivered(gateway)
    assert model.texts() == ["!important things first"]


async def test_the_only_open_request_need_not_be_named(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators):
        await wait_commands(discord)
        asked = await alice.mentions(general, "ring it")
        await discord.until(lambda: asked.thread)
        await wait_card(discord, thread_of(asked))
        await discord.answered(await alice.slash(thread_of(asked), "approve"))
        await discord.until(lambda: "It rang." in bot_texts(discord, thread_of(asked))[-1])
    assert RUNG_BELLS == ["big"]
