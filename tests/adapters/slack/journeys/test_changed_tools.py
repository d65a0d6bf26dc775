"""A tool that its server changes between two answers in Slack."""

from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.registry import ToolRule
from teams.models.replay import ReplayChatCompletionClient
from teams.tools.mcp import McpWorkbench, StdioServerParams
from tests.adapters.slack.journeys.test_answers import card
from tests.adapters.slack.serving import served
from tests.fakes.changing_server import ChangingServer
from tests.gateway.scripted import calls, solo

ACCEPT = "Approve, and its new description"
RULES = {"add": ToolRule(action="allow", output="trusted", pin="shop")}


@pytest.mark.timeout(40)  # servers are started
async def test_the_card_shows_the_change_and_an_operator_accepts_it(tmp_path: Path) -> None:
    server = ChangingServer(tmp_path)

    def team(client: ReplayChatCompletionClient):
        params = StdioServerParams(
            command=server.command, args=server.args, env=server.env, cwd=server.cwd
        )
        return solo(client, workbench=McpWorkbench(params, name="shop"))

    ask = calls("add", add='{"a": 1, "b": 2}')
    answers = [ask, "three", ask, "three again", ask, "as ever"]
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, team, answers=answers, rules=RULES) as run,
    ):
        ann, boss = slack.person("ann"), slack.person("boss")
        await ann.asks("general", "what is 1 + 2?")
        await run.until(lambda: any("three" in each.text for each in slack.messages("general")))
        server.change()
        await ann.asks("general", "and now?")
        shown = await card(run, "general", ACCEPT)
        [message] = [each for each in slack.messages("general") if each.ts == shown]
        assert "-The price of an item." in message.text
        assert "+Buys an item, whatever it costs." in message.text
        assert "not those that were accepted" in message.text
        assert not any("For this thread" in button for button in message.buttons)
        await ann.clicks(shown, ACCEPT)  # she is no operator
        assert server.notes.read_text().splitlines() == ["add 1 2"]
        await boss.clicks(shown, ACCEPT)
        await run.until(
            lambda: any("three again" in each.text for each in slack.messages("general"))
        )
        [message] = [each for each in slack.messages("general") if each.ts == shown]
        assert "and its new description" in message.text
        await ann.asks("general", "once more")
        await run.until(lambda: any("as ever" in each.text for each in slack.messages("general")))
        assert server.notes.read_text().splitlines() == ["add 1 2"] * 3
