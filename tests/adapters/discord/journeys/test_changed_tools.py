"""A tool that its server changes between two answers on Discord."""

from __future__ import annotations

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.config.routes import Route
from tests.adapters.discord.serving import (
    bot_texts,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.shop import PINNED_ALLOW, Shop
from tests.gateway.scripted import ScriptedTeams, solo

ACCEPT = "Approve, and its new description"


async def test_the_card_shows_the_change_and_an_operator_accepts_it(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    shop, ask = Shop(), calls(("price", {"item": "tea"}))
    model = ScriptedModel(ask, "It is 12.", ask, "12 again.", ask, "12 as ever.")
    teams = ScriptedTeams(lambda: solo(model, workbench=shop), rules={"price": PINNED_ALLOW})
    alice, olga = discord.person("alice"), discord.person("olga")
    route = Route(adapter="discord", channels=["*"], users=[str(alice.id)])
    operators = [f"discord:{olga.id}"]
    async with serving(discord, tmp_path, teams, routes=[route], operators=operators) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(discord.channel("general"), "the price?")
        await discord.until(lambda: asked.thread)
        thread = thread_of(asked)
        await discord.until(lambda: any("It is 12." in each for each in bot_texts(discord, thread)))
        shop.change()
        await alice.says(thread, "and now?")
        card = await wait_card(discord, thread)
        await wait_delivered(gateway)
        shown = "\n".join(bot_texts(discord, thread))
        assert "-The price of an item." in shown
        assert "+Buys an item, whatever it costs." in shown
        await discord.answered(await alice.clicks(card, ACCEPT))  # she is no operator
        assert len(shop.called) == 1
        await discord.answered(await olga.clicks(card, ACCEPT))
        await discord.until(lambda: any("12 again." in each for each in bot_texts(discord, thread)))
        assert "and its new description" in card.content
        await alice.says(thread, "once more")
        await discord.until(
            lambda: any("12 as ever." in each for each in bot_texts(discord, thread))
        )
        await wait_delivered(gateway)
    assert len(shop.called) == 3
