"""Alarms that were none: lines and buttons nobody needs."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.discord.outbound.payloads import MARKS
from adapters.discord.testing import DiscordSimulator
from gateway.gateway import Gateway
from gateway.human_tools import ASKS_PEOPLE, ask_human
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import InputRequired, Team, current_tool_call
from teams.conditions import TextMessageTermination
from teams.models import ChatCompletionClient
from teams.tools import FunctionTool
from tests.adapters.discord.serving import (
    RUNG_BELLS,
    bell_teams,
    bot_messages,
    bot_texts,
    config_of,
    response_of,
    ring,
    serving,
    thread_of,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import calls, model, solo

MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = f"{MESSAGES}/{{message_id}}"


async def test_stopped_is_said_once(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice, never = discord.person("alice"), asyncio.Event()
    words = ScriptedModel(["A long story: ", never], ["Another: ", never])
    team = partial(solo, words, model_client_stream=True)
    async with serving(discord, tmp_path, team) as gateway:
        await wait_commands(discord)
        await alice.says(alice.direct, "what is it?")
        await words.asked()
        await alice.says(alice.direct, "!stop")
        await discord.until(lambda: "-# Stopped." in bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
        assert "\n".join(bot_texts(discord, alice.direct)).count("Stopped.") == 1
        await alice.says(alice.direct, "and now?")
        await words.asked(2)
        used = await alice.slash(alice.direct, "stop")
        await discord.answered(used)
        await discord.until(lambda: bot_texts(discord, alice.direct).count("-# Stopped.") == 2)
        await wait_delivered(gateway)
    assert "Stopped." not in response_of(used).content


async def test_an_unknown_command_is_answered_and_not_sent_to_the_model(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, words = discord.person("alice"), ScriptedModel("Fine.")
    async with serving(discord, tmp_path, partial(solo, words)) as gateway:
        await alice.says(alice.direct, "!stpo")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        (told,) = bot_texts(discord, alice.direct)
        assert told.startswith("There is no command 'stpo'. Did you mean '/stop'?")
        assert words.requests == []
        await alice.says(alice.direct, "!important things first")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        await wait_delivered(gateway)
    assert words.texts() == ["!important things first"]


async def test_the_only_open_request_need_not_be_named(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators):
        await wait_commands(discord)
        asked = await alice.mentions(general, "ring it")
        await discord.until(lambda: asked.thread)
        await wait_card(discord, thread_of(asked))
        await discord.answered(await alice.slash(thread_of(asked), "approve"))
        await discord.until(lambda: "It rang." in bot_texts(discord, thread_of(asked))[-1])
    assert RUNG_BELLS == ["big"]


def answering(client: ChatCompletionClient, *tools: Any, **more: Any) -> Team:
    """One agent that works until it has answered."""
    agent = AssistantAgent("solo", client, tools=[*tools], max_tool_iterations=5, **more)
    return RoundRobinGroupChat([agent], termination_condition=TextMessageTermination("solo"))


ASKS = FunctionTool(ask_human, "Ask the person.", traits=ASKS_PEOPLE)


async def test_an_ordinary_question_is_a_card_and_nothing_else(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    asking = calls("ask_human", ask_human='{"question": "Which colour?"}')
    team = partial(answering, model(asking, "Blue it is."), ASKS)
    async with serving(discord, tmp_path, team) as gateway:
        await alice.says(alice.direct, "paint it")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        await wait_delivered(gateway)
        (card,) = bot_messages(discord, alice.direct)
        assert "Which colour?" in card.content
        assert card.components
        await alice.says(alice.direct, "blue")
        await discord.until(lambda: "Blue it is." in bot_texts(discord, alice.direct)[-1])
        await wait_delivered(gateway)
    asked, answer = bot_texts(discord, alice.direct)
    assert asked == "**solo** asked:\nWhich colour?\n-# Alice answered: blue"
    assert answer == "-# 🐺 **solo**\nBlue it is."
    assert len(discord.calls("POST", MESSAGES)) == 2
    assert discord.calls("DELETE", MESSAGE) == []


@pytest.mark.parametrize("webhooks", [False, True], ids=["bot", "webhooks"])
async def test_a_call_that_turns_out_to_ask_leaves_nothing_but_the_card(
    discord: DiscordSimulator, tmp_path: Path, *, webhooks: bool
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    shown = asyncio.Event()

    async def consult() -> str:
        """Consult somebody."""
        await shown.wait()
        call = current_tool_call()
        assert call is not None
        raise InputRequired("Which one?", request_id=call.key)

    team = partial(answering, model(calls("consult"), "That one."), consult)
    config = config_of(discord, webhooks=webhooks)
    async with serving(discord, tmp_path, team, config=config) as gateway:
        asked = await alice.mentions(general, "which?")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        thread = thread_of(asked)
        assert "consult" in bot_texts(discord, thread)[0]
        shown.set()
        await wait_card(discord, thread)
        await wait_delivered(gateway)
        (card,) = bot_texts(discord, thread)
        assert "Which one?" in card
        await alice.says(thread, "this")
        await discord.until(lambda: "That one." in bot_texts(discord, thread)[-1])
        await wait_delivered(gateway)
    assert MARKS["running"] not in str(bot_texts(discord, thread))


@pytest.mark.chaos
async def test_what_a_second_attempt_says_shorter_leaves_no_alarm(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, never = discord.person("alice"), asyncio.Event()
    words = ScriptedModel([" ".join(f"word{n}" for n in range(400)), never])
    team = partial(solo, words, model_client_stream=True)
    async with serving(discord, tmp_path, team):
        await alice.says(alice.direct, "write it")
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) > 1)
    team = partial(solo, ScriptedModel("Only this."), model_client_stream=True)
    async with serving(discord, tmp_path, team) as gateway:
        await discord.until(lambda: "Only this." in str(bot_texts(discord, alice.direct)))
        await wait_delivered(gateway)
    assert bot_texts(discord, alice.direct) == ["-# 🐺 **solo**\nOnly this."]


async def test_words_that_turn_out_to_be_a_thought_leave_no_alarm(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, shown = discord.person("alice"), asyncio.Event()
    RUNG_BELLS.clear()
    thinking = calls("ring", ring='{"bell": "big"}').model_copy(update={"thought": "Otherwise."})
    words = ScriptedModel(["Let me think. ", shown, thinking], "It rang.")
    team = partial(answering, words, ring, model_client_stream=True)
    async with serving(discord, tmp_path, team) as gateway:
        await alice.says(alice.direct, "ring it")
        await discord.until(lambda: "Let me" in str(bot_texts(discord, alice.direct)))
        shown.set()
        await discord.until(lambda: "It rang." in str(bot_texts(discord, alice.direct)))
        await wait_delivered(gateway)
    (answer,) = bot_texts(discord, alice.direct)
    assert answer.endswith("It rang.")


@pytest.mark.parametrize("restart", [False, True], ids=["same process", "next process"])
@pytest.mark.parametrize("how", ["click", "message"])
async def test_a_button_that_tries_again_goes_once_the_team_works_again(
    discord: DiscordSimulator, tmp_path: Path, how: str, *, restart: bool
) -> None:
    alice = discord.person("alice")
    team = partial(solo, ScriptedModel(RuntimeError("no"), "It is 42."))

    async def go_on(gateway: Gateway) -> None:
        if how == "click":
            (failed,) = [each for each in bot_messages(discord, alice.direct) if each.components]
            await discord.answered(await alice.clicks(failed, "Try again"))
        else:
            await alice.says(alice.direct, "then simply go on")
        await discord.until(lambda: "It is 42." in bot_texts(discord, alice.direct)[-1])
        await wait_delivered(gateway)

    async with serving(discord, tmp_path, team) as gateway:
        await alice.says(alice.direct, "what is it?")
        await wait_card(discord, alice.direct)
        await wait_delivered(gateway)
        if not restart:
            await go_on(gateway)
    if restart:
        async with serving(discord, tmp_path, team) as gateway:
            await go_on(gateway)
    assert not [each for each in bot_messages(discord, alice.direct) if each.components]
