"""Reasoning that grows on Slack, and gives way to the answer."""

import asyncio
from pathlib import Path

from adapters.slack.testing import SlackSimulator
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ThoughtPiece
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import running
from tests.fakes.scripted_model import ScriptedModel, says

HOSTILE = "Hm <!channel> <@U1> @here\r# Big\u2028[x](https://evil.example) \x1b[31m"


def thinking(model: ScriptedModel) -> Team:
    agent = AssistantAgent("solo", model, model_client_stream=True)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


async def test_a_thought_is_quoted_while_it_grows_and_gives_way_to_the_answer(
    tmp_path: Path,
) -> None:
    go = asyncio.Event()
    answer = says("The answer.", thought=HOSTILE)
    model = ScriptedModel([ThoughtPiece(HOSTILE), go, "The answer.", answer])
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: thinking(model)) as run,
        advancing(slack),
    ):
        asked = await run.ask("alice", "first")
        await slack.until(lambda: any("Hm" in each.text for each in run.messages(asked)))
        (thought,) = run.messages(asked)
        go.set()
        await slack.until(lambda: run.finished(asked))
        (said,) = run.messages(asked)
    sent = f"{thought.fallback}{thought.blocks}"
    assert "Thinking" in thought.text
    assert "<!channel>" not in sent
    assert "<@U1>" not in sent
    assert "\x1b" not in sent
    assert all(line.startswith("> ") for line in thought.fallback.splitlines())
    assert said.text.removeprefix("solo").strip() == "The answer."
    assert "Hm" not in f"{said.fallback}{said.blocks}"
