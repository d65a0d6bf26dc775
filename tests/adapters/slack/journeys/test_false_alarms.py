"""Alarms that were none: lines, buttons and warnings nobody needs."""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import SlackSimulator
from gateway.human_tools import ASKS_PEOPLE, ask_human
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import InputRequired, Team, current_tool_call
from teams.conditions import TextMessageTermination
from teams.models import ChatCompletionClient
from teams.tools import FunctionTool
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import one, running
from tests.adapters.slack.serving import ServedSlack, served
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import calls, solo

POSTING = ("chat.postMessage", "chat.startStream")


def pay() -> str:
    """Pay."""
    return "paid"


def answering(client: ChatCompletionClient, *tools: Any, **more: Any) -> Team:
    """One agent that works until it has answered."""
    agent = AssistantAgent("solo", client, tools=[*tools], max_tool_iterations=5, **more)
    return RoundRobinGroupChat([agent], termination_condition=TextMessageTermination("solo"))


class Asking:
    """A tool that asks a person once its call is shown."""

    def __init__(self) -> None:
        self.shown = asyncio.Event()

    async def consult(self) -> str:
        """Consult somebody."""
        await self.shown.wait()
        call = current_tool_call()
        assert call is not None
        raise InputRequired("Which one?", request_id=call.key)


def texts(slack: SlackSimulator, asked: Message) -> list[str]:
    """Texts of the bot's messages in a thread."""
    return [each.text for each in slack.messages(asked.channel, asked)[1:]]


async def test_a_start_warns_of_nothing_although_the_token_is_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET"):
        monkeypatch.setenv(name, "xoxb-of-the-environment")
    async with SlackSimulator() as slack, served(slack, tmp_path) as run:
        await slack.person("ann").asks("general", "hello?")
        await run.accepted(1)
        await run.settled()
        # Before the end: Slack's SDK warns when its socket is closed beneath an acknowledgement.
        warned = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert warned == []
    assert not [each for each in caplog.records if "OAuth" in each.getMessage()]


async def test_stopped_is_said_once_where_everybody_reads(tmp_path: Path) -> None:
    never = asyncio.Event()
    words = ScriptedModel(["It is a long story: ", never])
    team = partial(solo, words, model_client_stream=True)
    async with SlackSimulator() as slack, served(slack, tmp_path, lambda _: team()) as run:
        ann = slack.person("ann")
        asked = await ann.tells("what is it?")
        await words.asked()
        await ann.tells("!stop", thread=asked)
        await run.until(lambda: "Stopped." in texts(slack, asked))
        await run.settled()
        await run.delivered()
        assert texts(slack, asked).count("Stopped.") == 1
        assert not slack.private(ann)


async def test_an_unknown_command_is_answered_and_not_sent_to_the_model(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", "hello")
        await run.accepted(1)
        await ann.says("general", "!stpo", thread=asked)
        await run.until(lambda: slack.private(ann))
        (told,) = slack.private(ann)
        assert "There is no command 'stpo'. Did you mean '!stop'?" in told.text
        assert "!status" in told.text
        await ann.says("general", "!important things first", thread=asked)
        await run.until(lambda: run.asked == 2)
        assert await run.inbox("kind") == ["message", "command", "message"]


async def test_the_only_open_request_need_not_be_named(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        served(
            slack,
            tmp_path,
            lambda client: answering(client, pay),
            answers=(calls("pay"), "It is paid."),
            rules={"pay": ToolRule(action="ask")},
        ) as run,
    ):
        boss = slack.person("boss")
        asked = await boss.asks("general", "pay bob")
        await run.until(lambda: any(each.buttons for each in slack.messages("general", asked)))
        await boss.says("general", "!approve", thread=asked)
        await run.until(lambda: "It is paid." in str(texts(slack, asked)))
        assert not slack.private(boss)


def rated(slack: SlackSimulator, asked: Message) -> list[bool]:
    """True for each of the bot's messages that has thumbs."""
    kinds = [[block["type"] for block in each.blocks] for each in slack.messages("general", asked)]
    return ["context_actions" in each for each in kinds[1:]]


LONG = "\n\n".join(" ".join(f"word{n}" for n in range(400)) for _ in range(8))


@pytest.mark.parametrize("streams", [False, True], ids=["posted", "streamed"])
async def test_thumbs_stand_under_the_last_part_of_an_answer_alone(
    tmp_path: Path, *, streams: bool
) -> None:
    team = partial(solo, model_client_stream=streams)
    async with (
        SlackSimulator() as slack,
        served(slack, tmp_path, team, answers=[LONG]) as run,
        advancing(slack),
    ):
        asked = await slack.person("ann").asks("general", "write it")
        await run.until(lambda: len(texts(slack, asked)) > 1)
        await run.settled()
        await run.delivered()
        assert rated(slack, asked) == [False] * (len(texts(slack, asked)) - 1) + [True]


async def test_thumbs_come_once_an_answer_is_finished_that_went_on_in_new_messages(
    tmp_path: Path,
) -> None:
    words = " ".join(f"word{n}" for n in range(100))
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, words, pause=4)) as run,
        advancing(slack, 1.0),
    ):
        asked = await run.ask("alice", "write it")
        await slack.until(lambda: run.finished(asked) and "Done." in run.messages(asked)[-1].text)
        assert len(run.messages(asked)) > 2
        assert rated(slack, asked) == [False] * (len(run.messages(asked)) - 2) + [True, False]


MARKED = """# The *plan*

- **Two** steps, ~~three~~, see [the docs](https://docs.example/a)
- [ ] `snake_case_name` and __this__

> a quote

| a | b |
|---|---|
| 1 | 2 |

```python
x = a * b * c
```"""


async def test_a_notification_says_words_without_marks(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, served(slack, tmp_path, answers=[MARKED]) as run:
        asked = await slack.person("ann").asks("general", "plan it")
        await run.until(lambda: texts(slack, asked))
        await run.delivered()
    (text,) = {call.arguments["text"] for call in slack.calls("chat.postMessage")}
    assert text.startswith("solo: The plan \u2022 Two steps, three, see the docs")
    assert text.endswith(
        "\u2610 snake_case_name and this a quote a \u00b7 b 1 \u00b7 2 x = a * b * c"
    )


ASKS = FunctionTool(ask_human, "Ask the person.", traits=ASKS_PEOPLE)


async def test_an_ordinary_question_is_a_card_and_nothing_else(tmp_path: Path) -> None:
    asking = calls("ask_human", ask_human='{"question": "Which colour?"}')
    async with (
        SlackSimulator() as slack,
        served(
            slack,
            tmp_path,
            lambda client: answering(client, ASKS),
            answers=(asking, "Blue it is."),
        ) as run,
    ):
        ann = slack.person("ann")
        asked = await ann.asks("general", "paint it")
        await run.until(lambda: texts(slack, asked))
        await run.delivered()
        (card,) = slack.messages("general", asked)[1:]
        assert "Which colour?" in card.text
        assert card.buttons == ("Answer",)
        await ann.says("general", "blue", thread=asked)
        await run.until(lambda: "Blue it is." in str(texts(slack, asked)))
        await run.delivered()
    posted = [call for call in slack.calls() if call.method in POSTING]
    assert len(posted) == 2
    assert not re.search("nterrupted|ask_human", str(slack.calls()))


async def test_a_call_that_turns_out_to_ask_leaves_nothing_but_the_card(tmp_path: Path) -> None:
    asking = Asking()
    async with (
        SlackSimulator() as slack,
        served(
            slack,
            tmp_path,
            lambda client: answering(client, asking.consult),
            answers=(calls("consult"), "That one."),
        ) as run,
    ):
        ann = slack.person("ann")
        asked = await ann.asks("general", "which?")
        await run.until(lambda: "consult" in str(texts(slack, asked)))
        asking.shown.set()
        await run.until(lambda: "Which one?" in str(texts(slack, asked)))
        await run.delivered()
        (card,) = texts(slack, asked)
        assert "Which one?" in card
        await ann.says("general", "this", thread=asked)
        await run.until(lambda: "That one." in str(texts(slack, asked)))
        await run.delivered()
        assert "hourglass" not in str([each.blocks for each in slack.messages("general", asked)])
        assert "in_progress" not in str([each.tasks for each in slack.messages("general", asked)])


@pytest.mark.chaos
async def test_what_a_second_attempt_says_shorter_leaves_no_alarm(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with SlackSimulator() as slack:
        team = partial(solo, ScriptedModel([LONG, never]), model_client_stream=True)
        async with served(slack, tmp_path, lambda _: team()) as run, advancing(slack):
            asked = await slack.person("ann").asks("general", "write it")
            await run.until(lambda: len(texts(slack, asked)) > 1)
        team = partial(solo, ScriptedModel("Only this."), model_client_stream=True)
        async with served(slack, tmp_path, lambda _: team()) as run, advancing(slack):
            await run.until(lambda: "Only this." in str(texts(slack, asked)))
            await run.delivered()
            (answer,) = texts(slack, asked)
        assert answer.endswith("Only this.")


async def test_words_that_turn_out_to_be_a_thought_leave_no_alarm(tmp_path: Path) -> None:
    shown = asyncio.Event()
    thinking = calls("pay").model_copy(update={"thought": "Something else."})
    words = ScriptedModel(["Let me think. ", shown, thinking], "It is paid.")
    team = partial(answering, words, pay, model_client_stream=True)
    async with SlackSimulator() as slack, served(slack, tmp_path, lambda _: team()) as run:
        asked = await slack.person("ann").asks("general", "pay bob")
        await run.until(lambda: "Let me" in str(texts(slack, asked)))
        shown.set()
        await run.until(lambda: "It is paid." in str(texts(slack, asked)))
        await run.delivered()
        (answer,) = texts(slack, asked)
    assert "It is paid." in answer
    assert "nterrupted" not in str(slack.calls())


def buttons(slack: SlackSimulator, asked: Message) -> list[str]:
    """Labels of all buttons in a thread."""
    shown = slack.messages(asked.channel, asked)
    return [label for each in shown for label in each.buttons]


def failing() -> ScriptedModel:
    return ScriptedModel(RuntimeError("no"), "It is 42.", "And so on.")


@pytest.mark.parametrize("restart", [False, True], ids=["same process", "next process"])
@pytest.mark.parametrize("how", ["click", "message"])
async def test_a_button_that_tries_again_goes_once_the_team_works_again(
    tmp_path: Path, how: str, *, restart: bool
) -> None:
    words = failing()
    async with SlackSimulator() as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path, lambda _: solo(words)) as run:
            asked = await ann.asks("general", "what is it?")
            await run.until(lambda: buttons(slack, asked) == ["Try again"])
            await run.delivered()
            if not restart:
                await goes_on(slack, run, how, asked)
        if restart:
            async with served(slack, tmp_path, lambda _: solo(words)) as run:
                await goes_on(slack, run, how, asked)
        assert buttons(slack, asked) == []


async def goes_on(slack: SlackSimulator, run: ServedSlack, how: str, asked: Message) -> None:
    ann = slack.person("ann")
    if how == "click":
        (card,) = [each for each in slack.messages("general", asked) if each.buttons]
        await ann.clicks(card.ts, "Try again")
    else:
        await ann.says("general", "then simply go on", thread=asked)
    await run.until(lambda: "It is 42." in str(texts(slack, asked)))
    await run.delivered()


async def test_a_button_that_runs_an_edited_message_again_goes_once_it_has(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, served(slack, tmp_path) as run, advancing(slack):
        ann = slack.person("ann")
        asked = await ann.tells("one")
        await run.until(lambda: "fine" in str(texts(slack, asked)))
        await ann.edits(asked, "two")
        await run.until(lambda: buttons(slack, asked) == ["Run it again"])
        await run.delivered()
        await ann.tells("something else", thread=asked)
        await run.until(lambda: run.asked == 2)
        await run.delivered()
        assert buttons(slack, asked) == ["Run it again"]  # it is still to be had
        (card,) = [each for each in slack.messages(asked.channel, asked) if each.buttons]
        await ann.clicks(card.ts, "Run it again")
        await run.until(lambda: run.asked == 3)
        await run.delivered()
        assert buttons(slack, asked) == []


async def test_a_button_that_stops_goes_with_the_turn(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    words = ScriptedModel(["It is ", go_on, "42."])
    team = partial(solo, words, model_client_stream=True)
    async with (
        SlackSimulator() as slack,
        served(slack, tmp_path, lambda _: team()) as run,
        advancing(slack),
    ):
        ann, bob = slack.person("ann"), slack.person("bob")
        asked = await ann.asks("general", "one")
        await words.asked()
        await bob.says("general", "!status", thread=asked)
        await run.accepted(2)
        await ann.deletes(asked)
        await run.until(lambda: buttons(slack, asked) == ["Stop"])
        go_on.set()
        shown = partial(slack.messages, asked.channel, asked)
        await run.until(lambda: "42." in str([each.text for each in shown()]))
        await run.delivered()
        assert buttons(slack, asked) == []


async def test_a_question_deleted_during_its_answer_ends_that_where_its_author_is_alone(
    tmp_path: Path,
) -> None:
    words = ScriptedModel(["It is ", asyncio.Event(), "42."])
    team = partial(solo, words, model_client_stream=True)
    async with (
        SlackSimulator() as slack,
        served(slack, tmp_path, lambda _: team()) as run,
        advancing(slack),
    ):
        asked = await slack.person("ann").tells("one")
        await words.asked()
        await slack.person("ann").deletes(asked)
        told = "Stopped: its message was deleted."
        await run.until(lambda: told in str(texts(slack, asked)))
        await run.delivered()
        assert buttons(slack, asked) == []


async def test_a_button_that_unmutes_goes_once_somebody_has(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, served(slack, tmp_path) as run, advancing(slack):
        ann = slack.person("ann")
        asked = await ann.asks("general", "one")
        await run.until(lambda: "fine" in str(texts(slack, asked)))
        await ann.says("general", "!mute", thread=asked)
        await run.until(lambda: buttons(slack, asked) == ["Unmute"])
        await run.delivered()
        await ann.says("general", "!unmute", thread=asked)
        await run.until(lambda: "no longer muted" in str(texts(slack, asked)))
        await run.delivered()
        assert buttons(slack, asked) == []


async def test_a_mistyped_command_becomes_no_question_of_the_whole_channel(tmp_path: Path) -> None:
    async with SlackSimulator() as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        told = await ann.commands("general", "/parley", "stauts")
        await run.settled()
        assert "There is no command 'stauts', did you mean 'status'?" in str(told.response)
        assert slack.messages("general") == []
        await ann.commands("general", "/parley", "weather")
        await run.until(lambda: run.asked == 1)
