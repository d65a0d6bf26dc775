"""A message that is too long: three buttons, also after a restart."""

from pathlib import Path

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import RenderedMessage, SlackSimulator
from gateway.errors import TOO_LONG
from gateway.events import AsideWay
from gateway.inbound.commands import ASIDE_REPLIES, DECIDED
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from tests.adapters.slack.serving import served
from tests.fakes.narrow_model import NarrowModel

LONG = "A word. " * 1_000
BUTTONS = ("Summarise it", "Attach as a file", "Drop it")


def narrow(model: NarrowModel) -> Team:
    return RoundRobinGroupChat([AssistantAgent("solo", model)], max_turns=1)


def answers(slack: SlackSimulator, asked: Message) -> list[RenderedMessage]:
    return list(slack.messages(asked.channel, asked)[1:])


@pytest.mark.parametrize(
    ("button", "way", "heard"),
    [
        ("Summarise it", "summarise", "Words."),
        ("Attach as a file", "attach", "read_more reads on"),
    ],
)
async def test_a_button_after_a_restart_has_it_answered(
    tmp_path: Path, button: str, way: AsideWay, heard: str
) -> None:
    model = NarrowModel("I see.", most=7_000, summary="Words.")
    async with SlackSimulator() as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path, lambda _: narrow(model)) as run:
            asked = await ann.asks("general", LONG)
            await run.until(lambda: bool(answers(slack, asked)))
            await run.delivered()
        async with served(slack, tmp_path, lambda _: narrow(model)) as run:
            (offer,) = answers(slack, asked)
            await ann.clicks(offer.ts, button)
            await run.until(lambda: "I see." in str(answers(slack, asked)))
            await run.delivered()
            shown = answers(slack, asked)
            await ann.says("general", "!aside drop", thread=asked)
            await run.until(lambda: DECIDED in str(slack.private(ann)))
    assert TOO_LONG["message"] in offer.text
    assert offer.buttons == BUTTONS
    assert ASIDE_REPLIES[way] in shown[1].text
    assert shown[0].buttons == ()
    assert heard in model.texts()[-1]


async def test_what_is_dropped_has_no_buttons_any_more(tmp_path: Path) -> None:
    model = NarrowModel("I see.", most=7_000)
    async with SlackSimulator() as slack, served(slack, tmp_path, lambda _: narrow(model)) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", LONG)
        await run.until(lambda: bool(answers(slack, asked)))
        await ann.clicks(answers(slack, asked)[0].ts, "Drop it")
        await run.until(lambda: len(answers(slack, asked)) == 2)
        await run.delivered()
        offer, dropped = answers(slack, asked)
        await ann.says("general", "well?", thread=asked)
        await run.until(lambda: "I see." in str(answers(slack, asked)))
    assert offer.buttons == ()
    assert ASIDE_REPLIES["drop"] in dropped.text
