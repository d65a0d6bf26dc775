"""`/compact` on Discord, and how full contexts are."""

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.sessions.compaction import NOTHING
from tests.adapters.discord.serving import (
    bot_texts,
    response_of,
    serving,
    thread_of,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.summarising import SUMMARY, summarising

MARK = "2 earlier messages are summarised in what solo reads."


async def test_a_person_lets_the_agent_summarise(discord: DiscordSimulator, tmp_path: Path) -> None:
    model = ScriptedModel("Nice.", "Hm.", SUMMARY, "Reinhard.")
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: summarising(model)) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(general, "The fox is called Reinhard.")
        await discord.until(
            lambda: asked.thread and "Nice." in str(bot_texts(discord, asked.thread))
        )
        thread = thread_of(asked)
        await wait_delivered(gateway)
        await discord.answered(await alice.slash(thread, "compact"))
        await discord.until(lambda: NOTHING in str(bot_texts(discord, thread)))
        await alice.says(thread, "And?")
        await discord.until(lambda: "Hm." in str(bot_texts(discord, thread)))
        await wait_delivered(gateway)
        await discord.answered(await alice.slash(thread, "compact", about="names of foxes"))
        await discord.until(lambda: MARK in bot_texts(discord, thread)[-1])
        await wait_delivered(gateway)
        await alice.says(thread, "Its name?")
        await discord.until(lambda: "Reinhard." in bot_texts(discord, thread)[-1])
        await wait_delivered(gateway)
        used = await alice.slash(thread, "usage")
        await discord.until(lambda: used.response and used.response.content)
        assert "Context of solo: " in response_of(used).content
    assert "names of foxes" in str(model.requests[2]["messages"])
    assert SUMMARY in str(model.messages())
