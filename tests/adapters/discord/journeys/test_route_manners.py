"""Instructions, hidden thoughts and resets of a route, on Discord."""

from pathlib import Path

from adapters.discord.testing import DiscordSimulator
from gateway.config.routes import Reset, Route
from tests.adapters.discord.journeys.test_reasoning import thinking
from tests.adapters.discord.serving import bot_texts, serving, thread_of, wait_delivered
from tests.fakes.scripted_model import ScriptedModel, says


async def test_a_route_instructs_hides_thoughts_and_begins_anew(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    route = Route(
        adapter="discord",
        channels=["*"],
        users=["members"],
        instructions="Speak of cats.",
        reasoning="hide",
        reset=Reset(idle_hours=1e-9),
    )
    model = ScriptedModel(says("One.", thought="Hm."), says("Two.", thought="Well."))
    async with serving(discord, tmp_path, lambda: thinking(model), routes=[route]) as gateway:
        asked = await alice.mentions(general, "first")
        await discord.until(
            lambda: asked.thread and "One." in str(bot_texts(discord, thread_of(asked)))
        )
        await wait_delivered(gateway)
        await alice.says(thread_of(asked), "again")
        await discord.until(lambda: "Two." in str(bot_texts(discord, thread_of(asked))))
        await wait_delivered(gateway)
        first, second = await gateway.client.threads(platform="discord")
        said = bot_texts(discord, thread_of(asked))
    assert first.id != second.id
    assert ["does not remember the old one" in each for each in said] == [False, True, False]
    assert "Hm." not in str(said)
    assert [str(each["messages"][0]["content"])[:14] for each in model.requests] == [
        "Speak of cats.",
        "Speak of cats.",
    ]
    assert "first" not in str(model.requests[1]["messages"])
