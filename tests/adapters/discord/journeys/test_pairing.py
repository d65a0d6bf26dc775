"""Paired people are judged like anybody else who may write."""

import asyncio
import re
import time
from functools import partial
from pathlib import Path

from adapters.discord.testing import DiscordSimulator, Person
from gateway.config.routes import Route
from gateway.gateway import Gateway
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    serving,
    wait_accepted,
    wait_delivered,
    wait_seen_mark,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

BY_CODE = Route(adapter="discord", dm=True, pairing=True)
"""Direct messages of nobody but those who were let in."""

NOTES = ("notes.txt", b"buy milk", "text/plain")


async def pair_person(discord: DiscordSimulator, gateway: Gateway, who: Person) -> None:
    """They write, are told a code, and an operator enters it."""
    await who.says(who.direct, "hello?")
    (told,) = await discord.until(lambda: bot_texts(discord, who.direct))
    code = re.search(r"parley pair (\w+)", told)
    assert code is not None
    assert await gateway.client.pair(code[1]) is not None


async def test_their_files_are_read_as_they_stand_and_as_an_edit_leaves_them(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    eve, go_on = discord.person("eve"), asyncio.Event()
    model = ScriptedModel(["Wait", go_on, "."], "I see.")
    async with serving(discord, tmp_path, partial(solo, model), routes=[BY_CODE]) as gateway:
        await pair_person(discord, gateway, eve)
        await eve.says(eve.direct, "look", files=[NOTES])
        await model.asked()
        waits = await eve.says(eve.direct, "and", files=[("more.txt", b"sell eggs", "text/plain")])
        await eve.edits(waits, "and this")
        await wait_accepted(gateway, 4)
        go_on.set()
        await discord.until(lambda: len(bot_texts(discord, eve.direct)) == 3)
        await wait_delivered(gateway)
    assert "buy milk" in str(model.messages(0))
    assert "and this" in str(model.messages(1))
    assert "sell eggs" in str(model.messages(1))


async def test_what_they_reply_to_of_their_own_is_vouched_for(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    eve, model = discord.person("eve"), ScriptedModel("Yes.", "Yes.")
    async with serving(discord, tmp_path, partial(solo, model), routes=[BY_CODE]) as gateway:
        await pair_person(discord, gateway, eve)
        first = await eve.says(eve.direct, "the cat sat")
        await discord.until(lambda: len(bot_texts(discord, eve.direct)) == 2)
        await eve.says(eve.direct, "where?", reply_to=first)
        await discord.until(lambda: len(bot_texts(discord, eve.direct)) == 3)
        await wait_delivered(gateway)
    assert "not verified" not in "".join(model.texts(1))


async def test_they_may_have_answered_what_was_missed(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    eve = discord.person("eve")
    team = lambda: solo("Late.")  # noqa: E731
    async with serving(discord, tmp_path, team, routes=[BY_CODE]) as gateway:
        await pair_person(discord, gateway, eve)
        await eve.says(eve.direct, "begin")
        await discord.until(lambda: len(bot_texts(discord, eve.direct)) == 2)
        await wait_delivered(gateway)
        await wait_seen_mark(gateway)
    await discord.until(lambda: not discord.gateway.open_sessions)
    await eve.says(eve.direct, "hours ago", files=[NOTES])
    model = ScriptedModel("Late, but here.")
    later = partial(lambda ahead: time.time() + ahead, 3600.0)
    again = partial(solo, model)
    async with serving(discord, tmp_path, again, routes=[BY_CODE], clock=later) as gateway:
        offer = (await discord.until(lambda: bot_messages(discord, eve.direct)[2:]))[0]
        await discord.answered(await eve.clicks(offer, "Answer now"))
        await discord.until(lambda: len(bot_texts(discord, eve.direct)) == 4)
        await wait_delivered(gateway)
    assert "a message was written here. I am answering now." in offer.content
    assert "buy milk" in str(model.messages())
