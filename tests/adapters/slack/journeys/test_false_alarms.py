"""Alarms that were none: lines, buttons and warnings nobody needs."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import SlackSimulator
from gateway.registry import ToolRule
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import one, running
from tests.adapters.slack.serving import served
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import calls, solo


def pay() -> str:
    """Pay."""
    return "paid"


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
            lambda client: solo(client, tools=[pay], messages=9),
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
        "\u2022 snake_case_name and this a quote a \u00b7 b 1 \u00b7 2 x = a * b * c"
    )
