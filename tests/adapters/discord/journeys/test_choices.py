"""Questions with several answers, as menus."""

from functools import partial
from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.human_tools import ASKS_PEOPLE, ask_human
from gateway.inbound.answers import NOT_YOURS
from teams.tools import FunctionTool
from tests.adapters.discord.serving import (
    bot_texts,
    response_of,
    serving,
    thread_of,
    wait_card,
    wait_commands,
)
from tests.gateway.scripted import calls, model, solo

QUESTION = '{"question": "Which days?", "options": ["Mon", "Tue", "Wed"], "several": true}'


async def test_several_options_are_chosen_once_and_by_who_may(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    asks = FunctionTool(ask_human, "Ask.", traits=ASKS_PEOPLE)
    words = model(calls("ask_human", ask_human=QUESTION), "Noted.")
    alice, bob = discord.person("alice"), discord.person("bob")
    async with serving(discord, tmp_path, partial(solo, words, tools=[asks])):
        await wait_commands(discord)
        asked = await alice.mentions(discord.channel("general"), "when?")
        await discord.until(lambda: asked.thread)
        thread = thread_of(asked)
        card = await wait_card(discord, thread)
        refused = await bob.selects(card, "Choose", "Mon")
        await discord.answered(refused)
        assert NOT_YOURS in response_of(refused).content
        await alice.selects(card, "Choose", "Wed", "Mon")
        await discord.until(lambda: "Noted." in str(bot_texts(discord, thread)))
        await discord.until(lambda: not card.components)
        assert "Alice answered: Mon, Wed" in card.content
