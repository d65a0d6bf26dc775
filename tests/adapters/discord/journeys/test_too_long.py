"""A message that is too long: three buttons, also after a restart."""

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.errors import TOO_LONG
from gateway.inbound.replies import ASIDE_REPLIES
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    serving,
    thread_of,
    wait_delivered,
)
from tests.fakes.narrow_model import NarrowModel

FILE = ("diary.txt", b"A word. " * 1_000, "text/plain")


def narrow(model: NarrowModel) -> Team:
    return RoundRobinGroupChat([AssistantAgent("solo", model)], max_turns=1)


async def test_a_button_after_a_restart_has_it_summarised(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    model = NarrowModel("I see.", most=7_000, summary="Words.")
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: narrow(model)) as gateway:
        asked = await alice.mentions(general, "well?", files=[FILE])
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    async with serving(discord, tmp_path, lambda: narrow(model)) as gateway:
        (offer,) = bot_messages(discord, thread_of(asked))
        said, shown = offer.content, str(offer.components)
        await discord.answered(await alice.clicks(offer, "Summarise it"))
        await discord.until(lambda: "I see." in str(bot_texts(discord, thread_of(asked))))
        await wait_delivered(gateway)
        assert not bot_messages(discord, thread_of(asked))[0].components
        texts = bot_texts(discord, thread_of(asked))
    assert TOO_LONG["message"] in said
    assert all(name in shown for name in ("Summarise it", "Attach as a file", "Drop it"))
    assert ASIDE_REPLIES["summarise"] in texts[1]
    assert "Words." in str(model.messages()[-1]["content"])


async def test_what_is_dropped_has_no_buttons_any_more(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    model = NarrowModel("I see.", most=7_000)
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: narrow(model)) as gateway:
        asked = await alice.mentions(general, "well?", files=[FILE])
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        (offer,) = bot_messages(discord, thread_of(asked))
        await discord.answered(await alice.clicks(offer, "Drop it"))
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 2)
        await wait_delivered(gateway)
        assert not bot_messages(discord, thread_of(asked))[0].components
        assert ASIDE_REPLIES["drop"] in bot_texts(discord, thread_of(asked))[1]
        await alice.says(thread_of(asked), "and now?")
        await discord.until(lambda: "I see." in str(bot_texts(discord, thread_of(asked))))
