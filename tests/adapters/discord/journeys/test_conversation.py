"""People write on Discord, and the team answers there."""

import asyncio
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from adapters.discord.testing import DiscordSimulator, MessageFlag, ServerError
from gateway.adapter import IgnoredReason
from gateway.config.routes import Route
from gateway.store.units import adapters as adapter_units
from gateway.store.units import threads
from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent
from teams.base import Handoff
from teams.conditions import MaxMessageTermination, TextMentionTermination
from tests.adapters.discord.serving import (
    bot_messages,
    bot_texts,
    config_of,
    serving,
    thread_of,
    wait_delivered,
)
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.gateway.scripted import ScriptedTeams, model, solo


async def test_a_mention_is_answered_in_a_thread_of_its_own(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Hello, Alice.", "Bye.")) as gateway:
        asked = await alice.mentions(general, "say hello")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)

        assert bot_texts(discord, thread_of(asked)) == ["-# 🐺 **solo**\nHello, Alice."]
        assert thread_of(asked).name == "say hello"
        await alice.says(thread_of(asked), "and now?")
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 2)
    assert bot_texts(discord, thread_of(asked))[1] == "-# 🐺 **solo**\nBye."
    assert discord.pings == []
    assert discord.calls("PATCH") == []


async def test_a_thread_gets_the_title_that_a_model_makes_unless_a_person_named_it(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    teams = ScriptedTeams(
        lambda: solo("Hello, Alice.", "Bye."), titler=model("@everyone **Greetings**", "Other")
    )
    async with serving(discord, tmp_path, teams) as gateway:
        asked = await alice.mentions(general, "say hello")
        await discord.until(lambda: asked.thread and thread_of(asked).name == "everyone Greetings")
        await alice.says(thread_of(asked), "and now?")
        await discord.until(lambda: len(bot_texts(discord, thread_of(asked))) == 2)
        await wait_delivered(gateway)
    assert discord.pings == []
    assert len([call for call in discord.calls("PATCH") if "name" in call.body]) == 1


async def test_an_answer_streams_by_edits_and_a_hand_off_begins_another_message(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    go_on = asyncio.Event()

    def team() -> Swarm:
        ann = AssistantAgent(
            "ann",
            ScriptedModel(
                ["I ask ", go_on, "Bob.", calls(("transfer_to_bob", {}), thought="I ask Bob.")]
            ),
            handoffs=[Handoff(target="bob")],
            model_client_stream=True,
        )
        bob = AssistantAgent(
            "bob", ScriptedModel(["It is ", "seven. DONE"]), model_client_stream=True
        )
        ending = TextMentionTermination("DONE") | MaxMessageTermination(9)
        return Swarm([ann, bob], termination_condition=ending)

    general, alice = discord.channel("general"), discord.person("alice")
    teams = ScriptedTeams(team, participants=("ann", "bob"))
    async with serving(discord, tmp_path, teams) as gateway:
        asked = await alice.mentions(general, "how many?")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        assert bot_texts(discord, thread_of(asked))[0].startswith("-# 🐳 **ann**")
        await discord.until(lambda: any(each.channel is asked.thread for each in discord.typing))
        go_on.set()
        await discord.until(lambda: "seven" in "".join(bot_texts(discord, thread_of(asked))))
        await wait_delivered(gateway)
        texts = bot_texts(discord, thread_of(asked))
    assert [text.splitlines()[0] for text in texts] == ["-# 🐳 **ann**", "-# 🦉 **bob**"]
    assert texts[1].endswith("It is seven. DONE")
    assert "\u2192 bob" in texts[0]
    assert discord.avoidable_429s == []


async def test_who_is_addressed_speaks_first_and_a_person_of_that_name_is_no_agent(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    def team() -> RoundRobinGroupChat:
        agents = [Talker(name, f"{name} here") for name in ("planner", "writer", "bob")]
        return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(2))

    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    teams = ScriptedTeams(team, participants=("planner", "writer", "bob"))
    async with serving(discord, tmp_path, teams) as gateway:
        for text, answer in [
            ("@Writer: what do you think?", "-# 🦈 **writer**\nwriter here"),
            (f"{bob.mention} is here", "-# 🐧 **planner**\nplanner here"),
        ]:
            asked = await alice.mentions(general, text)
            await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))  # noqa: B023
            assert bot_texts(discord, thread_of(asked)) == [answer]
        await wait_delivered(gateway)


async def test_a_direct_message_is_answered_where_it_stands(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Hi.", "Again.")) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: bot_texts(discord, alice.direct) == ["-# 🐺 **solo**\nHi."])
        await alice.says(alice.direct, "hello?")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        await wait_delivered(gateway)


async def test_what_is_not_for_the_team_is_left_alone(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    other = discord.person("robot", bot=True)
    model = ScriptedModel("Here.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(general, "just talking")
        await other.mentions(general, "do as I say")
        asked = await alice.mentions(general, "you?")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        ignored = gateway.vitals.ignored
        assert ignored["not addressed"] == 2
        await discord.until(lambda: ignored["own"])  # the bot's answers
        assert set(ignored) <= set(get_args(IgnoredReason))
        assert len(await gateway.store.run(threads.threads)) == 1
    assert len(model.requests) == 1


async def test_whoever_may_not_write_is_told_so_alone_and_once(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, mallory = discord.channel("general"), discord.person("mallory")
    alice = discord.person("alice")
    only_alice = Route(adapter="discord", channels=["*"], users=[str(alice.id)])
    model = ScriptedModel("Here.")
    async with serving(discord, tmp_path, partial(solo, model), routes=[only_alice]):
        first = await mallory.mentions(general, "let me in")
        await discord.until(lambda: bot_texts(discord, mallory.direct))
        second = await mallory.mentions(general, "let me in!")
        asked = await alice.mentions(general, "hi")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
    assert bot_texts(discord, mallory.direct) == ["You may not write to this team."]
    assert first.thread is None
    assert second.thread is None
    assert len(model.requests) == 1


async def test_where_no_threads_can_be_made_a_chain_of_replies_is_the_conversation(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    discord.deny(general, discord.bot, "create_public_threads")
    async with serving(discord, tmp_path, lambda: solo("One.", "Two.")) as gateway:
        asked = await alice.mentions(general, "count")
        await discord.until(lambda: bot_texts(discord, general) == ["-# 🐺 **solo**\nOne."])
        answer = discord.messages(general)[-1]
        assert answer.referenced is asked
        await alice.says(general, "go on", reply_to=answer)
        await discord.until(lambda: len(bot_texts(discord, general)) == 2)
        await wait_delivered(gateway)
        assert len(await gateway.store.run(threads.threads)) == 1
    assert bot_texts(discord, general)[1] == "-# 🐺 **solo**\nTwo."
    assert discord.pings == []


@pytest.mark.parametrize("settings", [{}, {"answer_messages": 2, "answer_characters": 3000}])
async def test_an_answer_beyond_what_is_shown_tells_how_long_it_is_while_it_grows(
    settings: dict[str, int], discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, beats = discord.person("alice"), [asyncio.Event() for _ in range(3)]
    words = "It goes on and on and on. " * 100
    model = ScriptedModel([words, beats[0], words * 2, beats[1], words, beats[2], "The end."])
    team, config = partial(solo, model, model_client_stream=True), config_of(discord, **settings)
    async with serving(discord, tmp_path, team, config=config) as gateway:
        await alice.says(alice.direct, "talk")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        beats[0].set()
        told = "-# … still writing, {} characters"
        seven = told.format("7,800")
        await discord.until(lambda: bot_texts(discord, alice.direct)[-1].endswith(seven))
        beats[1].set()
        ten = told.format("10,400")
        await discord.until(lambda: bot_texts(discord, alice.direct)[-1].endswith(ten))
        beats[2].set()
        await discord.until(lambda: bot_messages(discord, alice.direct)[-1].attachments)
        await wait_delivered(gateway)
    *parts, whole = bot_messages(discord, alice.direct)
    assert "still writing" not in "".join(each.content for each in parts)
    told = [each.content.endswith("on.\n-# The rest is in solo.md below.") for each in parts]
    assert told == [*[False] * (len(parts) - 1), True]
    assert whole.content == "-# 🐺 **solo**\nThe whole answer, 10,408 characters:"
    assert len(parts) <= config.answer_messages
    assert sum(len(each.content) for each in parts) <= config.answer_characters + 1600
    assert whole.attachments[0].content.decode() == words * 4 + "The end."


async def test_a_private_thread_is_for_its_author(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    config = config_of(discord, threads="private")
    async with serving(discord, tmp_path, lambda: solo("One.", "Two."), config=config) as gateway:
        asked = await alice.mentions(general, "a secret")
        await discord.until(lambda: discord.threads(general))
        (thread,) = discord.threads(general)
        await discord.until(lambda: bot_texts(discord, thread) == ["-# 🐺 **solo**\nOne."])
        await wait_delivered(gateway)
        (pointer,) = bot_messages(discord, general)
        assert pointer.referenced is asked
        assert thread.mention in pointer.content
        assert bob.sees(thread) == []
        await alice.adds(thread, bob)
        assert bob.sees(thread) != []
    async with serving(discord, tmp_path, lambda: solo("Two."), config=config) as gateway:
        await alice.says(thread, "and after a restart?")
        await discord.until(lambda: len(bot_texts(discord, thread)) == 2)
        await wait_delivered(gateway)
        assert len(await gateway.store.run(threads.threads)) == 1
    assert discord.threads(general) == [thread]


@pytest.mark.parametrize("how", ["mention", "command"])
async def test_a_private_thread_that_an_earlier_run_could_not_open_is_for_its_author(
    how: str, discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config, model = config_of(discord, threads="private"), ScriptedModel("One.")
    discord.faults.plan(ServerError(503), path="/threads", times=-1)
    async with serving(discord, tmp_path, partial(solo, model), config=config):
        if how == "mention":
            await alice.mentions(general, "a secret")
        else:
            await discord.until(lambda: discord.commands.get(0))
            await alice.slash(general, "ask", text="a secret")
        await model.asked()
    discord.faults.clear()
    async with serving(discord, tmp_path, lambda: solo("One."), config=config) as gateway:
        (thread,) = await discord.until(lambda: discord.threads(general))
        await discord.until(lambda: bot_texts(discord, thread))
        await wait_delivered(gateway)
    assert alice.id in thread.members
    assert thread.name == "a secret"


@pytest.mark.parametrize("where", ["direct", "private thread"])
async def test_where_somebody_has_written_is_forgotten_with_them_and_not_with_a_thread(
    discord: DiscordSimulator, tmp_path: Path, where: str
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, threads="private")
    async with serving(discord, tmp_path, lambda: solo("One.", "Two."), config=config) as gateway:

        async def kept() -> list[str]:
            names = await gateway.store.run(adapter_units.marks, "discord")
            return [name for name in names if name.startswith(("direct:", "thread:"))]

        place = alice.direct
        if where == "direct":
            await alice.says(place, "hello")
        else:
            await alice.mentions(general, "hello")
            await discord.until(lambda: discord.threads(general))
            (place,) = discord.threads(general)
        await discord.until(lambda: bot_texts(discord, place) == ["-# 🐺 **solo**\nOne."])
        await wait_delivered(gateway)
        assert len(await kept()) == 1
        (first,) = await gateway.client.threads()
        await discord.answered(await alice.slash(place, "forget"))
        (second,) = await gateway.client.threads()
        assert first.id != second.id
        assert len(await kept()) == 1
        await gateway.client.delete_person(f"discord:{alice.id}")
        assert await kept() == []


async def test_a_post_in_a_forum_is_a_conversation(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    forum, alice = discord.forum("help"), discord.person("alice")
    always = Route(adapter="discord", channels=[str(forum.id)], users=["members"], mention="always")
    async with serving(
        discord, tmp_path, lambda: solo("Try this.", "Gladly."), routes=[always]
    ) as gateway:
        post = await alice.opens_post(forum, "It is broken", "What now?")
        await discord.until(lambda: bot_texts(discord, post) == ["-# 🐺 **solo**\nTry this."])
        await alice.says(post, "thanks")
        await discord.until(lambda: len(bot_texts(discord, post)) == 2)
        await wait_delivered(gateway)
        assert len(await gateway.store.run(threads.threads)) == 1


async def test_models_ping_nobody_and_show_no_previews(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    evil = f"@everyone <@{alice.id}> [bank](https://evil.example) https://evil.example"
    async with serving(discord, tmp_path, lambda: solo(evil)) as gateway:
        asked = await alice.mentions(general, "go")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        (shown,) = [each for each in discord.messages(thread_of(asked)) if each.application]
    assert discord.pings == []
    assert f"<@{alice.id}>" not in shown.content
    assert "[bank](https://evil.example) (evil.example) https://evil.example" in shown.content
    assert shown.flags & MessageFlag.SUPPRESS_EMBEDS
