"""A node that is cut off from its database is silent."""

from pathlib import Path

import pytest

from adapters.discord.testing import DiscordSimulator
from tests.adapters.discord.serving import bot_texts, serving, wait_commands, wait_delivered
from tests.fakes.cut_off import CutOff
from tests.gateway.scripted import solo

pytestmark = pytest.mark.chaos


async def test_an_answer_waits_until_the_node_is_back(
    discord: DiscordSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, cut_off = discord.person("alice"), CutOff(monkeypatch)
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await wait_commands(discord)
        cut_off.lasts = True
        await alice.says(alice.direct, "there?")
        await discord.until(lambda: cut_off.refused >= 3)
        assert discord.calls("POST") == []
        cut_off.lasts = False
        await wait_delivered(gateway)
    assert bot_texts(discord, alice.direct) == ["-# 🐺 **solo**\nHere."]
