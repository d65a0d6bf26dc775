"""Commands, buttons, menus and forms, and what they come to."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from adapters.discord.connection.rest import Rest
from adapters.discord.outbound.commands import command_payloads, sync_commands
from adapters.discord.testing import Delay, DiscordSimulator, Message, Refusal
from gateway.config.routes import Route
from gateway.inbound.commands import command_infos
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import MaxMessageTermination
from tests.adapters.discord.hosting import hosted
from tests.adapters.discord.serving import (
    RUNG_BELLS,
    bell_teams,
    bot_messages,
    bot_texts,
    config_of,
    response_of,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import ScriptedTeams, model, solo


def question_teams(*options: str) -> ScriptedTeams:
    def team() -> RoundRobinGroupChat:
        speaker = AssistantAgent("solo", model("What now?", "So be it.", "Fine."))
        return RoundRobinGroupChat(
            [speaker, UserProxyAgent("you")], termination_condition=MaxMessageTermination(4)
        )

    return ScriptedTeams(team, participants=("solo", "you"))


async def test_a_slash_command_begins_a_conversation(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Forty-two.", "Still.")) as gateway:
        await wait_commands(discord)
        used = await alice.slash(general, "ask", text="the answer?")
        await discord.until(lambda: used.response and used.response.thread)
        thread = thread_of(response_of(used))
        await discord.until(lambda: bot_texts(discord, thread) == ["-# 🐺 **solo**\nForty-two."])
        await discord.until(lambda: "the answer?" in response_of(used).content)
        await alice.says(thread, "sure?")
        await discord.until(lambda: len(bot_texts(discord, thread)) == 2)
        await wait_delivered(gateway)
    assert thread.name == "the answer?"
    assert discord.missed_interactions == []
    assert discord.pings == []


async def test_a_file_comes_with_a_question(discord: DiscordSimulator, tmp_path: Path) -> None:
    general, alice, model = discord.channel("general"), discord.person("alice"), ScriptedModel("OK")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await wait_commands(discord)
        file = ("plan.txt", b"buy milk", "text/plain")
        used = await alice.slash(general, "ask", text="read it", file=file)
        await discord.until(lambda: used.response and used.response.thread)
        await discord.until(lambda: bot_texts(discord, thread_of(response_of(used))))
        await wait_delivered(gateway)
    assert "> read it\n> (with plan.txt)" in response_of(used).content
    assert "buy milk" in "".join(model.texts())
    (command,) = [each for each in discord.commands[0] if each["name"] == "ask"]
    assert [(each["name"], each["type"]) for each in command["options"]] == [
        ("text", 3),
        ("file", 11),
    ]


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (("tool.exe", b"MZ\x90\x00\xff\xfe", "application/x-msdownload"), "did not reach"),
        (("empty.txt", b"", "text/plain"), ""),
        (("a`*_b.txt", b"x", "text/plain"), ""),
    ],
)
async def test_any_file_of_a_question_leaves_it_a_question(
    discord: DiscordSimulator, tmp_path: Path, file: tuple[str, bytes, str], why: str
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Fine.")) as gateway:
        await wait_commands(discord)
        used = await alice.slash(general, "ask", text="read it", file=file)
        await discord.until(lambda: used.response and used.response.thread)
        thread = thread_of(response_of(used))
        await discord.until(lambda: "Fine." in "".join(bot_texts(discord, thread)))
        await wait_delivered(gateway)
    assert why in "".join(bot_texts(discord, thread))


async def test_a_question_is_taken_before_its_command_is_answered(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, model = discord.channel("general"), discord.person("alice"), ScriptedModel("Hi")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await wait_commands(discord)
        may_be_answered = asyncio.Event()
        discord.faults.plan(Delay(until=may_be_answered), path="/callback")
        used = await alice.slash(general, "ask", text="are you there?")
        await model.asked()
        assert used.response is None
        may_be_answered.set()
        await discord.until(lambda: used.response and used.response.thread)
        await discord.until(lambda: bot_texts(discord, thread_of(response_of(used))))
        await wait_delivered(gateway)
    assert "are you there?" in response_of(used).content
    assert len(bot_messages(discord, general)) == 1


@pytest.mark.chaos
async def test_a_question_whose_command_discord_gave_up_waiting_for_is_answered_nevertheless(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Here.")) as gateway:
        await wait_commands(discord)
        gone = Refusal(404, 10062, "Unknown interaction")
        discord.faults.plan(gone, path="/callback", times=-1)
        await alice.slash(general, "ask", text="are you there?")
        (root,) = await discord.until(lambda: bot_messages(discord, general))
        await discord.until(lambda: root.thread and bot_texts(discord, root.thread))
        await wait_delivered(gateway)
    assert "are you there?" in root.content


async def test_a_reply_to_a_question_asked_with_a_command_goes_on_with_it_after_a_restart(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    config = config_of(discord, threads="none")
    async with serving(discord, tmp_path, lambda: solo("One."), config=config) as gateway:
        await wait_commands(discord)
        used = await alice.slash(general, "ask", text="first?")
        await discord.until(lambda: len(bot_messages(discord, general)) == 2)
        await wait_delivered(gateway)
    model = ScriptedModel("Two.")
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        await alice.says(general, "and then?", reply_to=bot_messages(discord, general)[1])
        await discord.until(lambda: len(bot_messages(discord, general)) == 3)
        await wait_delivered(gateway)
    assert bot_messages(discord, general)[1].referenced is used.response
    assert "first?" in "".join(model.texts())


async def test_a_question_that_is_to_be_private_is_seen_by_its_author_alone(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    config = config_of(discord, threads="private")
    async with serving(discord, tmp_path, lambda: solo("Yes."), config=config) as gateway:
        await wait_commands(discord)
        used = await alice.slash(general, "ask", text="am I alone?")
        await discord.until(lambda: used.response)
        (thread,) = await discord.until(lambda: discord.threads(general))
        await discord.until(lambda: bot_texts(discord, thread) == ["-# 🐺 **solo**\nYes."])
        await discord.until(lambda: thread.mention in response_of(used).content)
        await wait_delivered(gateway)
    assert response_of(used).visible_to is alice.user
    assert "am I alone?" in response_of(used).content
    assert bob.sees(general) == []
    assert thread.private
    assert alice.id in thread.members
    assert bob.id not in thread.members


async def test_commands_are_told_to_discord_only_when_they_change(
    discord: DiscordSimulator,
) -> None:
    bot, infos = str(discord.bot.id), command_infos()
    ask, team = command_payloads("ask", infos), command_payloads("team", infos)
    async with Rest(SecretStr(discord.token), discord.api_url) as rest:
        assert str(await sync_commands(rest, bot, ask)).startswith("added ask, new, stop")
        assert not await sync_commands(rest, bot, ask)
        discord.commands[0][0]["description"] = "Changed by another program"
        discord.commands[0].append({**discord.commands[0][2], "name": "old", "id": "1" * 18})
        del discord.commands[0][1]
        assert str(await sync_commands(rest, bot, ask)) == "added new; changed ask; removed old"
        assert str(await sync_commands(rest, bot, team)) == "changed team; removed ask"
    assert len(discord.calls("PUT", "/commands")) == 3
    names = {each["name"] for each in discord.commands[0]}
    assert {"team", "stop", "approve", "deny", "Ask the team"} <= names


async def test_status_and_stop_are_answered_to_their_person_alone(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, bob = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("bob"),
    )
    async with serving(discord, tmp_path, lambda: solo("Hi.")) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
        used = await alice.slash(thread_of(asked), "status")
        await discord.until(lambda: used.response and used.response.content)
        queue = await alice.slash(thread_of(asked), "queue", what="drop 3")
        await discord.until(lambda: queue.response and queue.response.content)
        stopped = await alice.slash(thread_of(asked), "stop")
        await discord.until(lambda: stopped.response and stopped.response.content)
    assert response_of(used).content == "The team 'demo' is idle."
    assert response_of(stopped).content == "The team is not working."
    assert used.response not in bob.sees(thread_of(asked))


async def test_the_menu_of_a_message_asks_the_team_about_it(discord: DiscordSimulator) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    async with hosted(discord) as run:
        await wait_commands(discord)
        claim = await bob.says(general, "two and two is five")
        used = await alice.menu(claim, "Ask the team")
        await run.until(lambda: used.response and run.host.turns)
    [taken] = run.host.turns
    assert "two and two is five" in taken.given
    assert "What do you think of this message?" in taken.given


async def test_the_message_that_the_menu_is_about_is_read_as_any_other(
    discord: DiscordSimulator,
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    async with hosted(discord) as run:
        await wait_commands(discord)
        first = await bob.says(general, "two and two is five")
        claim = await bob.says(
            general,
            f"{alice.user.mention} says so in {general.mention}",
            reply_to=first,
            files=[("proof.txt", b"five is two and two", "text/plain")],
        )
        used = await alice.menu(claim, "Ask the team")
        await run.until(lambda: used.response)
        [taken] = await run.complete(1)
    assert taken.receipt.outcome == "turn"
    assert "@Alice says so in #general" in taken.given
    assert "two and two is five" in taken.given
    assert "five is two and two" in taken.given
    assert taken.message.title == "@Alice says so in #general"


async def test_a_forward_and_an_embed_that_the_menu_is_about_reach_the_team(
    discord: DiscordSimulator,
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    other, robot = discord.channel("other"), discord.person("robot", bot=True)
    async with hosted(discord) as run:
        await wait_commands(discord)
        forwarded = await alice.forwards(await alice.says(other, "the moon is cheese"), general)
        used = await alice.menu(forwarded, "Ask the team")
        await run.until(lambda: used.response)
        await run.taken(1)
        alarm = await robot.says(general, "x")
        alarm.content, alarm.embeds = "", [{"title": "Disk full", "description": "on host seven"}]
        used = await alice.menu(alarm, "Ask the team")
        await run.until(lambda: used.response)
        first, second = await run.taken(2)
    assert run.host.turns == [first, second]
    assert "the moon is cheese" in first.given
    assert "Disk full" in second.given
    assert "on host seven" in second.given
    titles = [each.message.title for each in run.host.turns]
    assert titles == ["the moon is cheese", "Disk full\non host seven"]


@pytest.mark.parametrize(
    ("button", "outcome"),
    [
        ("Approve", "Approved by"),
        ("For this thread: any arguments", "Approved for this thread by "),
    ],
)
async def test_an_approval_is_clicked_and_its_outcome_stands_on_the_card(
    discord: DiscordSimulator, tmp_path: Path, button: str, outcome: str
) -> None:
    general, alice, bob = (
        discord.channel("general"),
        discord.person("alice"),
        discord.person("bob"),
    )
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators) as gateway:
        asked = await bob.mentions(general, "ring it")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        assert card.content.endswith("**solo** asks to run `ring`\n```\nbell: big\n```")
        assert card.pings == [alice.user]

        not_his = await bob.clicks(card, "Approve")
        await discord.answered(not_his)
        await discord.until(
            lambda: any("may not answer" in each.content for each in bob.sees(thread_of(asked)))
        )
        assert RUNG_BELLS == []
        await discord.answered(await alice.clicks(card, button))
        await discord.until(lambda: bot_texts(discord, thread_of(asked))[-1].endswith("It rang."))
        await wait_delivered(gateway)
        await discord.until(lambda: not card.components)
    assert outcome in card.content
    assert "Alice" in card.content
    assert RUNG_BELLS == ["big"]


async def test_a_note_on_a_denial_reaches_the_team(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators) as gateway:
        asked = await alice.mentions(general, "ring it")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        opened = await discord.answered(await alice.clicks(card, "Deny with a note"))
        await discord.answered(await alice.submits(opened, text="it is late"))
        await discord.until(lambda: not card.components)
        await wait_delivered(gateway)
    assert "it is late" in card.content
    assert RUNG_BELLS == []


async def test_a_question_is_answered_by_a_form_or_by_a_reply_to_its_card(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with serving(discord, tmp_path, question_teams()) as gateway:
        first = await alice.mentions(general, "begin")
        await discord.until(lambda: first.thread)
        card = await wait_card(discord, thread_of(first))
        opened = await discord.answered(await alice.clicks(card, "Answer"))
        await discord.answered(await alice.submits(opened, text="go on"))
        await discord.until(lambda: not card.components)

        second = await alice.mentions(general, "begin again")
        await discord.until(lambda: second.thread)
        other = await wait_card(discord, thread_of(second))
        await alice.says(thread_of(second), "all of it", reply_to=other)
        await discord.until(lambda: not other.components)
        await wait_delivered(gateway)
    assert "go on" in card.content
    assert "all of it" in other.content


async def test_a_late_click_and_an_unknown_button_are_answered(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators) as gateway:
        asked = await alice.mentions(general, "ring it")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        approve = card.components[0]["components"][0]["custom_id"]
        await discord.answered(await alice.clicks(card, "Deny"))
        await discord.until(lambda: not card.components)
        await discord.answered(await alice.clicks_gone(card, approve))
        await discord.until(
            lambda: any("already settled" in each.content for each in alice.sees(thread_of(asked)))
        )
        await discord.answered(await alice.clicks_gone(card, "of:an:older:bot"))
        await discord.until(
            lambda: any("no longer exists" in each.content for each in alice.sees(thread_of(asked)))
        )
        await wait_delivered(gateway)
    assert discord.missed_interactions == []
    assert RUNG_BELLS == []


async def test_clicks_are_noticed_in_time_while_everything_else_is_slow(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    slow = asyncio.Event()
    async with serving(discord, tmp_path, lambda: solo("Hi.")) as gateway:
        await wait_commands(discord)
        discord.faults.plan(Delay(until=slow), path="/channels/", times=-1)
        asked = await alice.mentions(general, "hello")
        await discord.until(lambda: discord.calls("POST", "/channels/"))
        used = [await alice.slash(general, "status") for _ in range(20)]
        for each in used:
            await discord.answered(each)
        assert asked.thread is None
        slow.set()
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    assert discord.missed_interactions == []


@pytest.mark.chaos
async def test_a_question_in_a_direct_message_is_noticed_in_time_while_its_person_is_looked_up(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    async with serving(discord, tmp_path, lambda: solo("Hi.")) as gateway:
        await wait_commands(discord)
        discord.faults.plan(Delay(4.0), path="/members/")
        used = await discord.answered(await alice.slash(alice.direct, "ask", text="hello?"))
        await discord.until(lambda: used.response and "hello?" in used.response.content)
        await discord.until(lambda: "-# 🐺 **solo**\nHi." in bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
    assert discord.missed_interactions == []


async def test_a_click_that_discord_gave_up_waiting_for_counts_nevertheless(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators) as gateway:
        asked = await alice.mentions(general, "ring it")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        gone = Refusal(404, 10062, "Unknown interaction")
        discord.faults.plan(gone, path="/callback", times=-1)
        await alice.clicks(card, "Approve")
        await discord.until(lambda: "Approved by" in card.content)
        discord.faults.clear()
        await discord.until(lambda: bot_texts(discord, thread_of(asked))[-1].endswith("It rang."))
        await wait_delivered(gateway)


async def test_who_may_not_write_may_not_use_commands_either(discord: DiscordSimulator) -> None:
    general, mallory = discord.channel("general"), discord.person("mallory")
    nobody = Route(adapter="discord", channels=["*"], users=["1"])
    async with hosted(discord, routes=[nobody]) as run:
        await wait_commands(discord)
        used = await mallory.slash(general, "ask", text="let me in")
        await run.until(lambda: used.response and used.response.content)
    assert response_of(used).content == "You may not write to this team."
    assert response_of(used).visible_to is mallory.user
    assert run.host.turns == []


async def test_a_notices_button_is_its_command(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice = discord.person("alice")
    client = ScriptedModel(ValueError("the model is out"), "Fine again.")
    async with serving(discord, tmp_path, partial(solo, client)) as gateway:
        await alice.says(alice.direct, "hello")
        notice = await wait_card(discord, alice.direct)
        used = await discord.answered(await alice.clicks(notice, label_of(notice)))
        await discord.until(lambda: bot_texts(discord, alice.direct)[-1].endswith("Fine again."))
        await wait_delivered(gateway)
    assert used.acknowledged
    assert "the model is out" not in "".join(bot_texts(discord, alice.direct))


def label_of(message: Message) -> str:
    """The text on a message's only button."""
    return message.components[0]["components"][0]["label"]


async def test_a_copy_of_an_approval_elsewhere_is_decided_there(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, desk = discord.channel("general"), discord.channel("desk")
    alice, bob = discord.person("alice"), discord.person("bob")
    operators = [f"discord:{alice.id}"]
    approvals = [f"discord:{discord.home.id}:{desk.id}"]
    async with serving(
        discord, tmp_path, bell_teams(), operators=operators, approvals=approvals
    ) as gateway:
        asked = await bob.mentions(general, "ring it")
        copy = await wait_card(discord, desk)
        assert "big" not in copy.content
        assert str(asked.id) in copy.content
        await discord.answered(await alice.clicks(copy, "Approve"))
        await discord.until(
            lambda: asked.thread and "It rang." in bot_texts(discord, asked.thread)[-1]
        )
        await discord.until(lambda: not copy.components)
        await wait_delivered(gateway)
    assert RUNG_BELLS == ["big"]


TEAMS = ["refunds", "research", "x" * 101]


@pytest.mark.parametrize(
    ("person", "typed", "offered"),
    [
        ("alice", "", ["support", "refunds", "research"]),
        ("alice", "RE", ["refunds", "research"]),
        ("alice", "zebra", []),
        ("mallory", "", []),
    ],
)
async def test_the_teams_of_a_persons_route_are_suggested_while_they_type(
    discord: DiscordSimulator, tmp_path: Path, person: str, typed: str, offered: list[str]
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    route = Route(
        adapter="discord", channels=["*"], users=[str(alice.id)], team="support", teams=TEAMS
    )
    async with hosted(discord, routes=[route]) as host:
        await wait_commands(discord)
        typing = await discord.person(person).completes(general, "team", name=typed)
        await discord.until(lambda: typing.choices is not None)
    assert [each["value"] for each in typing.choices or ()] == offered
    assert not host.host.taken
