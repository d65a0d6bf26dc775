"""Answers that people rate, and say why."""

import json
from pathlib import Path

import pytest

from adapters.discord.inbound.interactions import NOTED
from adapters.discord.testing import DiscordSimulator
from gateway.app.feedback import rated_threads
from tests.adapters.discord.serving import (
    bot_messages,
    config_of,
    response_of,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.gateway.scripted import solo


@pytest.mark.parametrize("webhooks", [False, True])
async def test_a_thumb_is_kept_with_its_reason(
    discord: DiscordSimulator, tmp_path: Path, webhooks: bool
) -> None:
    config, alice = config_of(discord, thumbs=True, webhooks=webhooks), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Forty-two."), config=config) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(discord.channel("general"), "the answer?")
        await discord.until(lambda: asked.thread)
        answer = await wait_card(discord, thread_of(asked))
        good, bad = (each["custom_id"] for each in answer.components[0]["components"])
        praised = await alice.clicks(answer, good)
        await discord.answered(praised)
        assert NOTED in response_of(praised).content
        blamed = await alice.clicks(answer, bad)
        await discord.until(lambda: blamed.modal)
        sent = await alice.submits(blamed, text="It is old.")
        await discord.answered(sent)
        await wait_delivered(gateway)
        ((_, (line,)),) = [each async for each in rated_threads(gateway.store)]
    told = json.loads(line)
    assert (told["verdict"], told["reason"]) == ("bad", "It is old.")
    assert told["answer"] == {"agent": "solo", "text": "Forty-two."}


async def test_answers_have_no_thumbs_by_default(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Forty-two.")) as gateway:
        await alice.says(alice.direct, "the answer?")
        await discord.until(lambda: bot_messages(discord, alice.direct))
        await wait_delivered(gateway)
    assert not any(each.components for each in bot_messages(discord, alice.direct))
