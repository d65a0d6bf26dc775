"""Answers in Slack: by buttons, in modals, in words, and too late."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from gateway.errors import NOT_YOURS
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import MaxMessageTermination
from teams.models import BadCredentials
from teams.models.replay import ReplayChatCompletionClient
from tests.adapters.slack.serving import ServedSlack, served
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import calls, solo

ASK = {"send": ToolRule(action="ask")}


class Outbox:
    """A tool that must be approved."""

    def __init__(self) -> None:
        self.sent = 0

    async def send(self) -> str:
        """Send it."""
        self.sent += 1
        return "sent"

    def team(self, client: ReplayChatCompletionClient) -> RoundRobinGroupChat:
        return solo(client, tools=[self.send])  # pyright: ignore[reportReturnType]


def asking(client: ReplayChatCompletionClient) -> RoundRobinGroupChat:
    agents = [UserProxyAgent("person"), AssistantAgent("solo", client)]
    return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(3))


BUTTON = "For this thread: exactly these arguments"


async def card(run: ServedSlack, channel: str, button: str) -> str:
    """The message with this button, once it is there."""

    def found() -> list[str]:
        shown = run.slack.messages(channel)
        return [each.ts for each in shown if button in each.buttons]

    await run.until(found)
    return found()[0]


@pytest.mark.parametrize(
    ("button", "sent", "outcome"),
    [
        ("Approve", 1, "Approved by"),
        (BUTTON, 1, ": exactly these arguments"),
        ("Deny", 0, "Denied by"),
    ],
)
async def test_an_approver_decides_by_a_button(
    tmp_path: Path, button: str, sent: int, outcome: str
) -> None:
    box = Outbox()
    answers = [calls("send"), "done", "done"]
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, box.team, answers=answers, rules=ASK) as run,
    ):
        boss = slack.person("boss")
        asked = await slack.person("ann").asks("general", "send it")
        shown = await card(run, "general", button)
        pressed = await boss.clicks(shown, button)
        await run.until(lambda: pressed.acked)
        await run.until(lambda: "done" in str(slack.messages("general", asked)))
        assert box.sent == sent
        await run.until(lambda: outcome in slack_text(run, shown))
        assert (await run.inbox())[-1] == "answer"


def slack_text(run: ServedSlack, ts: str) -> str:
    return next(each.text for each in run.slack.messages("general") if each.ts == ts)


async def test_a_click_counts_after_a_restart_and_a_second_one_is_told_so(tmp_path: Path) -> None:
    box = Outbox()
    async with SlackSimulator(rates=False) as slack:
        async with served(slack, tmp_path, box.team, answers=[calls("send")], rules=ASK) as run:
            await slack.person("ann").asks("general", "send it")
            shown = await card(run, "general", "Approve")
            await run.settled()
        boss = slack.person("boss")
        slack.hold()
        early = await boss.clicks(shown, "Approve")
        late = copy.deepcopy(early.payload)  # of a screen that still shows the buttons
        late["actions"][0] |= {"action_id": "g:deny:0", "action_ts": "1800000009.000000"}
        async with served(slack, tmp_path, box.team, answers=["done"], rules=ASK) as run:
            slack.release()
            await run.until(lambda: early.acked)
            slack.world.deliver("interactive", late)
            await run.until(lambda: slack.private(boss))
            assert "This is already settled: approved." in slack.private(boss)[0].text
            await run.until(lambda: run.asked)
            assert box.sent == 1
        # The same delivery once more is what it was.
        async with served(slack, tmp_path, box.team, answers=["done"], rules=ASK) as run:
            again = slack.repeat(early)
            await run.until(lambda: again.acked)
            assert box.sent == 1


async def test_a_denial_takes_a_note_in_a_modal(tmp_path: Path) -> None:
    box = Outbox()
    answers = [calls("send"), "as you wish", "done"]
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, box.team, answers=answers, rules=ASK) as run,
    ):
        boss = slack.person("boss")
        await slack.person("ann").asks("general", "send it")
        shown = await card(run, "general", "Deny with a note")
        pressed = await boss.clicks(shown, "Deny with a note")
        await run.until(lambda: boss.modal and boss.modal.body.get("submit"))
        assert pressed.acked
        (opened,) = slack.calls("views.open")
        assert (opened.error, slack.calls("views.update")) == ("", [])
        await boss.submits({"answer": "not on a Friday"})
        await run.until(lambda: run.asked == 2)
        assert boss.modal is None
        assert "not on a Friday" in str(run.heard())
        assert box.sent == 0


async def test_free_text_is_taken_in_a_modal_and_only_once(tmp_path: Path) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, asking, answers=["I see"]) as run,
    ):
        ann, eve = slack.person("ann"), slack.person("eve")
        await ann.asks("general", "begin")
        button = "Answer"
        shown = await card(run, "general", button)
        asked = (
            ":raised_hand: <@U0ANN> *person* asks:\nWhat is your answer?\nor reply in this thread"
        )
        assert slack_text(run, shown) == asked
        await eve.clicks(shown, button)
        await run.until(lambda: slack.private(eve))
        assert slack.private(eve)[0].text == "You may not answer this request."
        assert not slack.calls("views.open")
        await ann.clicks(shown, button)
        await run.until(lambda: ann.modal)
        empty = await ann.submits({"answer": "  "})
        await run.until(lambda: empty.acked)
        assert ann.modal is not None
        assert ann.modal.errors
        await ann.submits({"answer": "blue"})
        await run.until(lambda: ann.modal is None)
        await run.until(lambda: run.asked)
        assert "blue" in str(run.heard())


async def test_a_reply_in_the_thread_answers_as_well(tmp_path: Path) -> None:
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, asking, answers=["I see"]) as run,
    ):
        ann = slack.person("ann")
        asked = await ann.asks("general", "begin")
        await card(run, "general", "Answer")
        await ann.says("general", "green", thread=asked)
        await run.until(lambda: run.asked)
        assert "green" in str(run.heard())
        assert (await run.inbox())[-1] == "answer"


async def test_what_people_cannot_mend_is_the_operators_to_mend(tmp_path: Path) -> None:
    refused = BadCredentials("401", model="gpt-4o")
    async with (
        SlackSimulator() as slack,
        served(slack, tmp_path, lambda _: solo(ScriptedModel(refused, refused))) as run,
    ):
        shown: list[str] = []
        for name in ("ann", "boss"):
            asked = await slack.person(name).asks("general", "hello")
            await run.until(lambda asked=asked: slack.messages("general", asked)[1:])
            await run.delivered()
            (said,) = slack.messages("general", asked)[1:]
            assert said.buttons == ()
            shown.append(re.sub(r" \(id .*", "", said.text.removeprefix(":x: ")))
    assert shown == [
        f"The model's key is missing or was refused. {NOT_YOURS}",
        "The model's key is missing or was refused. Give another `api_key` of the model 'gpt-4o' "
        "in `[models]`.",
    ]
